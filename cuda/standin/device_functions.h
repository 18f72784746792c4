/// What kernels call beside plain C++: barriers, shuffles, votes, atomics. Threads of a block are fibers of one CPU
/// thread (fibers.h), so atomics are plain operations.
#pragma once

#include <cstdint>
#include <cstring>

namespace emplace::standin {
/// Waits until every thread of the block (the warp) that has not ended is here. Ends the process with a message if
/// some wait for the block and others for the warp for good, or if the launch promised that there is no barrier.
void wait_for_block();
void wait_for_warp();
/// The slot in which lane `lane` of this thread's warp lays a value for the others; at most 16 bytes.
void* warp_slot(unsigned lane);
bool lane_alive(unsigned lane);
/// Dynamic shared memory of this block.
void* dynamic_shared();

inline unsigned lane_of_thread() {
  return (threadIdx.x + threadIdx.y * blockDim.x + threadIdx.z * blockDim.x * blockDim.y) % 32;
}

template <class T>
T exchange(T value, unsigned from) {
  static_assert(sizeof(T) <= 16);
  std::memcpy(warp_slot(lane_of_thread()), &value, sizeof(T));
  wait_for_warp();
  T other = value;
  if (from < 32 && lane_alive(from)) std::memcpy(&other, warp_slot(from), sizeof(T));
  wait_for_warp();
  return other;
}
}  // namespace emplace::standin

inline void __syncthreads() { emplace::standin::wait_for_block(); }
inline void __syncwarp(unsigned = ~0u) { emplace::standin::wait_for_warp(); }
template <class T>
T __shfl_sync(unsigned, T value, int from) { return emplace::standin::exchange(value, static_cast<unsigned>(from) % 32); }
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return emplace::standin::exchange(value, emplace::standin::lane_of_thread() ^ static_cast<unsigned>(mask));
}
template <class T>
T __shfl_down_sync(unsigned, T value, unsigned delta) {
  return emplace::standin::exchange(value, emplace::standin::lane_of_thread() + delta);
}
template <class T>
T __shfl_up_sync(unsigned, T value, unsigned delta) {
  unsigned lane = emplace::standin::lane_of_thread();
  return emplace::standin::exchange(value, lane >= delta ? lane - delta : lane);
}
inline unsigned __ballot_sync(unsigned, int predicate) {
  unsigned bits = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    int other = emplace::standin::exchange(predicate, lane);
    if (emplace::standin::lane_alive(lane) && other != 0) bits |= 1u << lane;
  }
  return bits;
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>((uint64_t{a} * b) >> 32); }
inline void __threadfence() {}

template <class T>
T atomicAdd(T* at, T value) {
  T old = *at;
  *at = static_cast<T>(old + value);
  return old;
}
template <class T>
T atomicMax(T* at, T value) {
  T old = *at;
  if (old < value) *at = value;
  return old;
}
template <class T>
T atomicMin(T* at, T value) {
  T old = *at;
  if (value < old) *at = value;
  return old;
}
template <class T>
T atomicCAS(T* at, T expected, T value) {
  T old = *at;
  if (old == expected) *at = value;
  return old;
}
