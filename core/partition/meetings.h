/// Collective ops: nodes of one shared_name, one on each device, that do their work together. None of them is done
/// before the last has come, so they run one after the other, with nothing of their own devices between them.
#pragma once

#include <string>
#include <vector>

#include "core/partition/program.h"

namespace emplace {

bool is_collective(const Graph& graph, NodeId node);
/// The name of its meeting. REQUIRES: is_collective().
const std::string& meeting_of(const Graph& graph, NodeId node);

/// `nodes` (ascending, so that inputs come first) in such an order. Nodes that cannot stand together stay where they
/// are.
std::vector<NodeId> order_for_meetings(const Graph& graph, const std::vector<NodeId>& nodes);

/// Do the instructions stand together, and are all members there? Unimplemented, InvalidArgument.
Status check_meetings(const Graph& graph, const Program& program);

}  // namespace emplace
