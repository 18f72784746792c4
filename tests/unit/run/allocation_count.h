/// How often the program has asked for heap memory: global operator new, which this file's .cpp replaces, counts.
#pragma once

#include <cstdint>

namespace emplace::testing {

/// Of all threads, since the program began.
int64_t allocation_count();

}  // namespace emplace::testing
