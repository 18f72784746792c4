/// Index tuples in device memory: core/ops/kit/nd_index.h for kernels.
#pragma once

#include "core/ops/kit/nd_index.h"
#include "cuda/dims.h"
#include "cuda/typed.h"

namespace emplace::cuda {

struct Tuples {
  Indices indices;
  int depth = 0;
  int64_t count = 0, slice = 1;  // elements of a slice
  int64_t size[kMaxDims] = {};

  static Result<Tuples> of(const NdIndex& index) {
    if (index.depth > kMaxDims) return unimplemented("indices of so many dimensions on a GPU");
    Tuples t{Indices(*index.indices), index.depth, index.tuples, index.slice};
    for (int d = 0; d < index.depth; ++d) t.size[d] = index.into.dim(d);
    return t;
  }
  /// Which of the slices tuple t names; -1 if it leaves the tensor.
  __device__ __forceinline__ int64_t place(int64_t t) const {
    int64_t at = 0;
    EMPLACE_UNROLL for (int d = 0; d < kMaxDims; ++d) {
      if (d == depth) break;
      const int64_t i = indices.at(t * depth + d);
      if (i < 0 || i >= size[d]) return -1;
      at = at * size[d] + i;
    }
    return at;
  }
};

}  // namespace emplace::cuda
