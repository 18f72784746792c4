#include "core/graph/node_position.h"

namespace emplace {

std::string node_position(const Graph& graph, const Source* source, NodeId node) {
  const int64_t position = graph.node(node).position;
  if (!source || position == kNoPosition) return {};
  return source->where(static_cast<size_t>(position));
}

}  // namespace emplace
