/// What kernels call beside plain C++. Threads of a block are fibers of one CPU thread (cuda/standin/fibers.cpp).
#pragma once

#include <cstdint>

namespace emplace::standin {
/// Waits until every thread of the block that has not ended is here. Ends the process with a message if the launch
/// promised that there is no barrier.
void wait_for_block();
/// Dynamic shared memory of this block.
void* dynamic_shared();
}  // namespace emplace::standin

inline void __syncthreads() { emplace::standin::wait_for_block(); }
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>((uint64_t{a} * b) >> 32); }
