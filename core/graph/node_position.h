/// Where in its file a node is written, for messages.
#pragma once

#include <string>

#include "core/graph/graph.h"
#include "core/graph/source.h"

namespace emplace {

/// "graph.json:12:24": the node's name. Empty for a node that the file does not write, or without a source. Walks the
/// text from its start.
std::string node_position(const Graph& graph, const Source* source, NodeId node);

}  // namespace emplace
