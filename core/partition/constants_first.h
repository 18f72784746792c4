/// An order in which small parts of a graph that nothing but constants goes into (a batch normalisation's factors) come
/// before all else, so that what they stood between, a convolution and what is done to its elements, is side by side.
#pragma once

#include <vector>

#include "core/device/device.h"
#include "core/graph/graph.h"
#include "core/partition/prune.h"

namespace emplace {

/// `order` (inputs first) so rearranged; each of the two halves keeps its order. Only nodes on devices that
/// `is_cpu` (by device) names move. `device_of`: by node.
std::vector<NodeId> order_constants_first(const Graph& graph, const Pruned& pruned,
                                          const std::vector<DeviceId>& device_of, const std::vector<uint8_t>& is_cpu,
                                          std::vector<NodeId> order);

}  // namespace emplace
