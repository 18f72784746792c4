/// What all device code needs: the mark of a function for both sides, and a thread's number. NVRTC reads it too
/// (cuda/chain.h).
#pragma once

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#endif

#include <cstdint>

#define EMPLACE_HD __host__ __device__ __forceinline__

namespace emplace::cuda {

/// This thread's number in a one-dimensional grid, and the number of threads: for loops whose stride is the grid.
__device__ __forceinline__ int64_t thread_index() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ int64_t thread_count() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

}  // namespace emplace::cuda
