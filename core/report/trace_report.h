/// A trace as a file that chrome://tracing and ui.perfetto.dev open.
#pragma once

#include <string>

#include "core/device/device.h"
#include "core/graph/graph.h"
#include "core/run/trace.h"

namespace emplace {

/// Chrome's trace event format: a lane (thread) per device and one per pair of memories that copies go between; a
/// complete event per node or copy, times in microseconds, with its op, step and bytes.
std::string trace_json(const Graph& graph, const DeviceSet& devices, const TraceRecorder& trace);

}  // namespace emplace
