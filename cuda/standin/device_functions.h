/// What kernels call beside plain C++. Threads of a block are fibers of one CPU thread (cuda/standin/fibers.cpp).
#pragma once

#include <cstdint>

namespace emplace::standin {
/// Waits until every thread of the block is here. Ends the process with a message if one has ended or waits at another
/// place in the source, since only a barrier that all come to is one; and if the launch promised that there is none.
void wait_for_block(const char* file, unsigned line);
/// Dynamic shared memory of this block.
void* dynamic_shared();
}  // namespace emplace::standin

inline void __syncthreads(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
  emplace::standin::wait_for_block(file, line);
}
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>((uint64_t{a} * b) >> 32); }
