/// Copies within host memory by several threads: one core fills page-locked memory at a fraction of the speed at which
/// a card reads it.
#pragma once

#include <cstddef>

namespace emplace::cuda {

/// Returns when it is done. Thread-safe. The threads begin with the first large copy and serve one caller at a time;
/// others copy alone, as is done with few bytes.
void copy_on_host(void* to, const void* from, size_t bytes);

}  // namespace emplace::cuda
