/// What tests and launch() ask of the stand-in beyond CUDA's own functions.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>

namespace emplace::standin {

/// 0: operations run when they are enqueued. Otherwise they wait, and run in an order drawn from the seed: those of any
/// stream next, or, by every third seed, those of one stream as long as there are any, so that others come late.
/// Before the first stream, or when all are idle. At the start: what EMPLACE_STANDIN_SEED says, or 0.
void set_seed(uint64_t seed);

/// The order of a block's threads and of a grid's blocks: any is right. At the start: what EMPLACE_STANDIN_ORDER says,
/// "normal", "reverse", or a number, from which orders are drawn.
enum class Order { kNormal, kReverse, kRandom };
void set_order(Order order, uint64_t seed = 1);

/// How often something was done that takes a driver its time, since the process began.
struct Counts {
  uint64_t waits = 0;            // of the host, for work that was not done
  uint64_t launches = 0;         // of kernels
  uint64_t waits_at_launch = 0;  // when the last kernel was launched
  uint64_t streams = 0;          // made
  uint64_t page_locked = 0;      // pieces of memory made
};
Counts counts();

/// Shared memory holds no value when a block begins: the first of its threads that comes by spoils it.
void spoil_for_block(void* data, size_t bytes);

/// Enqueues a kernel: `body` is called once per thread of the grid. With `barriers` the threads of a block are fibers.
cudaError_t launch(bool barriers, const void* kernel, dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
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
