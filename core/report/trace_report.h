/// A trace as a file that chrome://tracing and ui.perfetto.dev open.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/report/trace_facts.h"
#include "core/report/trace_slice.h"
#include "core/run/trace.h"

namespace emplace {

/// Chrome's trace event format: a process per device, or per task where there are several; in it, for each device, a
/// thread per thread that ran its nodes, and per memory that it copies to; a complete event per launch, times in
/// microseconds, nodes that ran as one in `args`; arrows from what made a tensor through its copy to its first reader;
/// counters (core/report/trace_counters.h). Slices are ascending by their start.
std::string trace_json(const TraceFacts& facts, const std::vector<TraceSlice>& slices);

/// Lines of text that show a slice, beside those for each of its nodes; each is about 32 bytes of a document.
inline constexpr int64_t kLinesOfSlice = 10, kLinesOfNode = 2;
/// Leaves out the oldest slices of those that are too much. How many were left out.
int64_t leave_out_oldest(std::vector<TraceSlice>& slices, int64_t most_lines);

std::vector<TraceSlice> slices_of(const LaunchTrace& trace, const std::vector<LaunchSpan>& spans);
/// Of a run that was observed node by node, the newest; `work` gets what the slices point to.
std::vector<TraceSlice> slices_of(const TraceRecorder& trace, int64_t most, std::vector<LaunchedWork>& work);

}  // namespace emplace
