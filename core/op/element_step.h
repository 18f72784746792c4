/// ElementStep: what an elementwise kernel of floats does to a number, said so that several such kernels can be one
/// loop, in which the number stays in a register from the first step to the last.
#pragma once

#include <array>

#include "core/op/kernel.h"

namespace emplace {

enum class ElementStep : uint8_t { kNone, kAdd, kSubtract, kMultiply, kRelu, kRelu6, kNormalise };

/// Steps that follow each other. As a Tile: input 0 is what the first begins with, then come each step's operands (none
/// of kRelu and kRelu6, three of kNormalise, else one). The same roundings as by the kernels one by one.
struct StepChain {
  static constexpr int kMost = 8, kMostInputs = 1 + 3 * kMost;
  struct Step {
    ElementStep step = ElementStep::kNone;
    bool swapped = false;  // the number is the second operand
  };
  int count = 0;
  std::array<Step, kMost> steps;
};

/// A kernel that may be part of one.
class SteppedKernel : public Kernel {
 public:
  /// What its tile() does; kNone: something else.
  virtual ElementStep step() const = 0;
  /// The tile of a StepChain, its `params`, on this processor; null: it has none.
  virtual Tile::Function chain_code() const = 0;
};

}  // namespace emplace
