/// Do the copies of variables that replicas keep still hold the same bytes?
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/run/session.h"

namespace emplace {

/// `copies`: pairs of a copy and the variable itself, as TrainGraph has them. Internal: two differ after `step` steps;
/// the message names the first.
Status check_replicas(const Graph& graph, Session& session, const std::vector<std::pair<NodeId, NodeId>>& copies,
                      int64_t step);

}  // namespace emplace
