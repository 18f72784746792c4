/// Ragged tensors in variants, joined to one.
#pragma once

#include <vector>

#include "core/op/tensor_list.h"

namespace emplace {

/// The values of the ragged tensor that element `i` of a variant holds; InvalidArgument if it holds none of that type.
Result<Tensor> ragged_values(const Tensor& variant, int64_t i, DType type);

/// Takes one after the other, then puts the splits, from the outermost on, and the values to a kernel's outputs.
struct RaggedStack {
  int depth = 0;  // row splits of each
  DType values = DType::kInvalid, splits = DType::kInvalid;
  bool of_rows = true;  // what it puts has splits
  std::vector<ListElements> parts;

  /// InvalidArgument, with TensorFlow's text, if it holds no ragged tensor of that depth and these types.
  Status add(const Tensor& variant);
  /// The only one, as it is.
  Status put_alone(KernelContext& c) const;
  /// As rows of a tensor; they have one shape and no splits.
  Status put_dense(KernelContext& c) const;
  /// As innermost rows of a ragged tensor whose outer dimensions are those of `outer`.
  Status put_ragged(KernelContext& c, const Shape& outer) const;

 private:
  const Tensor& values_of(size_t part) const { return parts[part][depth]; }
  Status put_outer_splits(KernelContext& c, const Shape& outer) const;
  Status put_inner_splits(KernelContext& c, int level, int output) const;
  Status put_values(KernelContext& c, int output) const;
};

}  // namespace emplace
