/// Training on several tasks: gradients meet in buckets, and a bucket is on the network while what is left of the
/// backward pass is computed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/partition/prune.h"

namespace emplace {

/// An integer attr of nodes that reduce gradients of several replicas: the number of their bucket, from 0 on, in the
/// order in which the backward pass makes them.
inline constexpr std::string_view kBucketAttr = "_reduce_bucket";

/// Of such a node.
std::optional<int64_t> bucket_of(const Graph& graph, NodeId node);

/// `order` (inputs first) so rearranged that the nodes of a bucket come once the inputs of the next two are made, and
/// what is no part of these after all of them. What a bucket's nodes wait for has then been sent for as long as two
/// buckets take to compute. Without such nodes, `order` itself.
std::vector<NodeId> order_by_bucket(const Graph& graph, const Pruned& pruned, std::vector<NodeId> order);

}  // namespace emplace
