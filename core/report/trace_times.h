/// The times of nodes, read from a trace that `run --trace` wrote.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace emplace {

/// Microseconds a step, by node; -1 for nodes that the trace does not have. Nodes that ran as one share its time
/// evenly. InvalidArgument: no trace, one of another version or graph; `origin` is the file's name, for messages.
Result<std::vector<double>> node_times(const Graph& graph, std::string_view trace, std::string_view origin);

}  // namespace emplace
