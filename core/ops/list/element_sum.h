/// Sums of elements of lists and arrays.
#pragma once

#include <optional>

#include "core/op/kernel.h"
#include "core/ops/kit/elementwise.h"

namespace emplace {

/// One per kernel: it keeps the code for the type that it met.
class ElementSum {
 public:
  /// `to` becomes the sum, in a buffer of its own. An element that is not set counts as zeros.
  Status add(KernelContext& c, DType type, Tensor& to, const Tensor& more);

 private:
  std::optional<BoundTile> add_;
  DType type_ = DType::kInvalid;
};

}  // namespace emplace
