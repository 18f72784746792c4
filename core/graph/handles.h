/// Which nodes are given variables, and whatever else keeps a state, themselves: references and handles.
#pragma once

#include "core/graph/graph.h"

namespace emplace {

/// Is one among its inputs? Also where the node only wants the value that a reference has.
bool reads_handle(const Graph& graph, NodeId node);
/// Is one among its outputs?
bool makes_handle(const Graph& graph, NodeId node);

}  // namespace emplace
