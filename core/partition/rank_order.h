/// The order in which a placement by cost was predicted to run: of the nodes whose inputs are there, the one that most
/// work waits for comes first. So one thread, or one queue of launches, starts what is critical before what can wait.
#pragma once

#include <vector>

#include "core/partition/prune.h"

namespace emplace {

/// Does it use variables, or other state that outlives it? Such nodes keep their order.
bool has_state(const Graph& graph, NodeId node);

/// `order` (inputs first, without loops) by ranks of nodes, as far as edges let it. What has a state keeps its order,
/// so that the same bytes come out. With collectives, which stand together, `order` itself.
std::vector<NodeId> order_by_rank(const Graph& graph, const Pruned& pruned, const std::vector<float>& ranks,
                                  const std::vector<NodeId>& order);

}  // namespace emplace
