#include "core/graph/node_position.h"

#include "core/base/cat.h"

namespace emplace {

std::string node_position(const Graph& graph, const Source* source, NodeId node) {
  const int64_t position = graph.node(node).position;
  if (!source || position == kNoPosition) return {};
  const Source::LineColumn at = source->locate(static_cast<size_t>(position));
  return cat(source->name(), ":", at.line, ":", at.column);
}

}  // namespace emplace
