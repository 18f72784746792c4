/// What tests and launch() ask of the stand-in beyond CUDA's own functions.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>

namespace emplace::standin {

/// 0: operations run when they are enqueued. Otherwise they wait, and run in an order drawn from the seed.
/// Before the first stream, or when all are idle. At the start: what EMPLACE_STANDIN_SEED says, or 0.
void set_seed(uint64_t seed);

/// Enqueues a kernel: `body` is called once per thread of the grid. With `barriers` the threads of a block are fibers.
cudaError_t launch(bool barriers, dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
                   std::function<void()> body);

/// Ends the process if there is an address of the host's memory in a kernel's argument: a GPU would not reach it. Only
/// once there is device memory; tests of kernels alone have none.
void check_addresses(const void* argument, size_t bytes);
template <class T>
void check_argument(T value) {
  __builtin_clear_padding(&value);
  check_addresses(&value, sizeof value);
}

/// Runs a grid now, on this thread.
void run_grid(bool barriers, dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()>& body);

}  // namespace emplace::standin
