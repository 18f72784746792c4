/// TraceSlice: one launch of a run as a trace shows it.
#pragma once

#include <cstdint>

#include "core/run/launch_trace.h"

namespace emplace {

/// What ran, as one, from when to when.
struct TraceSlice {
  const LaunchedWork* work = nullptr;
  uint32_t thread = 0;
  int64_t step = 0;  // -1: before the first one
  int64_t start_ns = 0, end_ns = 0;
};

}  // namespace emplace
