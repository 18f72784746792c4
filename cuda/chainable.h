/// ChainableKernel: an elementwise kernel as a part of chains (core/device/gpu.h), by the name of its function.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "core/op/kernel.h"

namespace emplace::cuda {

/// A node's function as text.
struct FunctionText {
  std::string_view name;                    // "fn::Tanh"
  DType type, result;                       // of its operands, and what it gives
  std::array<unsigned char, 8> state = {};  // its FunctionState
};

class ChainableKernel : public Kernel {
 public:
  /// Nothing: for the shapes that it was prepared for it can be none. (A chain sees to it itself that operands have the
  /// result's elements, or one.)
  virtual std::optional<FunctionText> function() const = 0;
};

}  // namespace emplace::cuda
