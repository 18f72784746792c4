/// launch(): starts a kernel on a stream. The same sources are compiled by nvcc for a GPU, and by g++ against the
/// stand-in of the CUDA runtime (cuda/standin), which runs them on a CPU.
///
/// Rules for kernels, which make both possible:
/// - a __global__ function template takes plain values and pointers; its mathematics are functors marked EMPLACE_HD;
/// - it reads threadIdx, blockIdx, blockDim, gridDim, and no other hardware state; blocks never wait for each other;
/// - `EMPLACE_BLOCK_SHARED(T, name, [N]);` for fixed shared memory, dynamic_shared<T>() for memory whose size the
/// launch gives;
/// - __syncthreads() only in kernels that are launched with Barriers::kBlock, nothing that is a warp's;
/// - no floating-point atomics, and grids that follow from shapes alone: the same bytes on every run.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/base/status.h"
#include "cuda/device_code.h"
#include "cuda/error.h"
#ifndef __CUDACC__
#include "cuda/standin/standin.h"
#endif

/// EMPLACE_BLOCK_SHARED(T, name, [N]); a variable of all threads of the block, without a value at first.
#ifdef __CUDACC__
#define EMPLACE_BLOCK_SHARED(T, name, ...) __shared__ T name __VA_ARGS__
#else
#define EMPLACE_BLOCK_SHARED(T, name, ...) \
  static thread_local T name __VA_ARGS__;  \
  ::emplace::standin::spoil_for_block(&name, sizeof name)
#endif

#ifdef __CUDACC__
#define EMPLACE_UNROLL _Pragma("unroll")      // for arrays that stay in registers
#define EMPLACE_UNROLL_4 _Pragma("unroll 4")  // so that several loads are under way
// For loops over a grid's stride, of which a thread goes round once: unrolled, they would divide to count their rounds.
#define EMPLACE_ROLLED _Pragma("unroll 1")
#else
#define EMPLACE_UNROLL
#define EMPLACE_UNROLL_4
#define EMPLACE_ROLLED
#endif

namespace emplace::cuda {

enum class Barriers : bool { kNone, kBlock };

/// Enqueues kernel(args...) on `stream`. A grid without blocks is nothing to do.
template <class... P, class... A>
Status launch(Barriers barriers, void (*kernel)(P...), dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
              A... args) {
  static_assert(sizeof...(P) == sizeof...(A), "one argument for each parameter");
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return ok_status();
#ifdef __CUDACC__
  (void)barriers;
  auto start = [&](P... values) {
    void* pointers[] = {static_cast<void*>(&values)..., nullptr};
    return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, pointers, shared_bytes, stream);
  };
  return status_of(start(static_cast<P>(args)...), "cudaLaunchKernel");
#else
  (standin::check_argument<P>(args), ...);
  return status_of(standin::launch(barriers == Barriers::kBlock, reinterpret_cast<const void*>(kernel), grid, block,
                                   shared_bytes, stream, [=] { kernel(static_cast<P>(args)...); }),
                   "cudaLaunchKernel");
#endif
}

inline constexpr unsigned kThreads = 256;  // of a block, where nothing else decides
inline constexpr int64_t kMaxBlocks = (int64_t{1} << 31) - 1;

/// Blocks for `items` at `per_block` each.
inline dim3 grid_for(int64_t items, int64_t per_block = kThreads) {
  return dim3(static_cast<unsigned>(std::min(kMaxBlocks, (items + per_block - 1) / per_block)));
}

template <class T>
__device__ __forceinline__ T* dynamic_shared() {
#ifdef __CUDACC__
  extern __shared__ __align__(16) unsigned char emplace_dynamic_shared[];
  return reinterpret_cast<T*>(emplace_dynamic_shared);
#else
  return static_cast<T*>(standin::dynamic_shared());
#endif
}

}  // namespace emplace::cuda
