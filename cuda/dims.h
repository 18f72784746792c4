/// A walk over some dimensions of a tensor: index to offset.
#pragma once

#include <cstdint>

#include "core/base/status.h"
#include "cuda/launch.h"

namespace emplace::cuda {

inline constexpr int kMaxDims = 8;

/// Innermost dimension first, with strides in elements.
struct Dims {
  int count = 0;
  int64_t elements = 1;
  int64_t size[kMaxDims] = {}, stride[kMaxDims] = {};

  /// Unimplemented if there are too many.
  Status add(int64_t n, int64_t step) {
    if (n == 1) return ok_status();
    elements *= n;
    if (count > 0 && step == size[count - 1] * stride[count - 1]) {
      size[count - 1] *= n;
      return ok_status();
    }
    if (count == kMaxDims) return unimplemented("a tensor of so many dimensions on a GPU");
    size[count] = n;
    stride[count++] = step;
    return ok_status();
  }
  __device__ __forceinline__ int64_t offset(int64_t i) const {
    int64_t at = 0;
    for (int d = 0; d < count; ++d) {
      const int64_t next = d + 1 < count ? i / size[d] : 0;
      at += (i - next * size[d]) * stride[d];
      i = next;
    }
    return at;
  }
};

/// All of a block's values combined in a fixed tree; every thread gets the result. `slots` is shared memory, one for
/// each of kThreads threads.
template <class A, class F>
__device__ A combine_block(A value, A* slots, const F& combine) {
  __syncthreads();
  slots[threadIdx.x] = value;
  __syncthreads();
  for (unsigned width = kThreads / 2; width > 0; width /= 2) {
    if (threadIdx.x < width) slots[threadIdx.x] = combine(slots[threadIdx.x], slots[threadIdx.x + width]);
    __syncthreads();
  }
  return slots[0];
}

}  // namespace emplace::cuda
