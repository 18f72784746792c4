/// Indices that are tuples: the last dimension of an index tensor names a slice of a tensor (GatherNd, ScatterNd).
#pragma once

#include "core/op/kernel.h"

namespace emplace {

/// How index tuples address a tensor of shape `into`: tuple t means the slice that starts at element
/// offset(t) and has `slice` elements.
struct NdIndex {
  const Tensor* indices = nullptr;
  Shape into;
  Shape outer;    // of the tuples
  int depth = 0;  // entries of a tuple
  int64_t tuples = 0;
  int64_t slice = 1;  // elements

  /// Fails if the tuples are longer than the tensor has dimensions.
  static Result<NdIndex> of(const Tensor& indices, const Shape& into);
  /// The same, but a vector holds tuples of one index each, not one tuple (the scatter ops).
  static Result<NdIndex> of_scatter(const Tensor& indices, const Shape& into);
  /// -1 if the tuple leaves the tensor.
  int64_t offset(int64_t tuple) const;
  /// "indices[1] = [2, 2] does not index into <what>[3,2]".
  std::string out_of_range(int64_t tuple, std::string_view what) const;
};

}  // namespace emplace
