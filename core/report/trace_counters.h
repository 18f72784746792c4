/// The counters of a trace: how much of something there is at each time, worked out from what ran and from the graph's
/// edges. Each begins and ends at 0.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/graph/graph.h"
#include "core/report/trace_slice.h"

namespace emplace {

/// A counter's value from a time on.
struct TraceCount {
  int64_t ns = 0;
  DeviceId process = kNoDevice;
  DeviceId to = kNoDevice;  // of kUnderWay: whose memory the copies go to
  enum class What : uint8_t {
    kUnderWay,  // bytes that copies from `process` are moving
    kLive,      // bytes of tensors in the memory of `process` that somebody will read: of steps, not of variables
    kReady,     // nodes whose inputs are there and that have not begun
  } what = What::kUnderWay;
  int64_t value = 0;
};

/// "bytes under way to GPU:1"
std::string counter_name(const TraceCount& count, const DeviceSet& devices);

/// By counter, each ascending by time; values that last less than a microsecond are left out. `slices` are ascending by
/// their start.
std::vector<TraceCount> counts_of(const Graph& graph, const std::vector<TraceSlice>& slices);

}  // namespace emplace
