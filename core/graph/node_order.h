/// The order in which TensorFlow builds the nodes of a GraphDef (GraphConstructor, graph_constructor.cc): again and
/// again, of the nodes whose inputs are all built, the one that stands first in the file. A loop's Merge waits for its
/// control inputs and one other input only.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "core/graph/graph.h"

namespace emplace {

struct NodeOrder {
  std::vector<NodeId> new_id;               // by the node's place in the file; empty: the file is in order
  std::vector<std::vector<NodeId>> cycles;  // if there are any, new_id means nothing; each in the direction of the data
};

/// `also`: pairs (before, after) that order nodes as an edge would, sorted by `after`.
NodeOrder tensorflow_order(const Graph& g, std::span<const std::pair<NodeId, NodeId>> also);

/// Renumbers nodes, edges, the name index and literals.
void renumber(Graph& g, std::span<const NodeId> new_id);

}  // namespace emplace
