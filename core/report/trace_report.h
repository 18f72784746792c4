/// A trace as a file that chrome://tracing and ui.perfetto.dev open.
#pragma once

#include <string>

#include "core/device/device.h"
#include "core/graph/graph.h"
#include "core/graph/lower/origins.h"
#include "core/run/trace.h"

namespace emplace {

/// Chrome's trace event format: a lane (thread) per device and one per pair of memories that copies go between; a
/// complete event per node or copy, times in microseconds, with its op, step and bytes, and with its origin if
/// `origins` (null: all nodes are the file's own) has one.
std::string trace_json(const Graph& graph, const DeviceSet& devices, const TraceRecorder& trace,
                       const Origins* origins = nullptr);

}  // namespace emplace
