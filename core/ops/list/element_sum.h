/// Sums of elements of lists and arrays.
#pragma once

#include <optional>

#include "core/op/tensor_list.h"
#include "core/ops/kit/elementwise.h"

namespace emplace {

/// One per kernel: it keeps the code for the type that it met.
class ElementSum {
 public:
  /// `to` becomes the sum, in a buffer of its own. An element that is not set counts as zeros.
  Status add(KernelContext& c, DType type, Tensor& to, const Tensor& more) { return add(c, type, to, more, 0); }
  /// The same of all elements of lists. One that is set in neither stays so.
  Status add_list(KernelContext& c, TensorList& to, const TensorList& more) { return add_list(c, to, more, 0); }

 private:
  Status add(KernelContext& c, DType type, Tensor& to, const Tensor& more, int depth);
  Status add_list(KernelContext& c, TensorList& to, const TensorList& more, int depth);
  Status add_map(KernelContext& c, TensorList& to, const TensorList& more, int depth);
  Status add_ragged(KernelContext& c, TensorList& to, const TensorList& more, int depth);
  Status add_variants(KernelContext& c, Tensor& to, const Tensor& more, int depth);

  std::optional<BoundTile> add_;
  DType type_ = DType::kInvalid;
};

}  // namespace emplace
