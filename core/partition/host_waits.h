/// The order of nodes for several GPUs that one host thread feeds: before the thread waits for a result of one GPU, the
/// other GPUs should have been given their work.
#pragma once

#include <vector>

#include "core/device/device.h"
#include "core/partition/memory_kind.h"
#include "core/partition/prune.h"

namespace emplace {

/// `order` (inputs first, members of a meeting side by side) rearranged where nodes are on two real GPUs or more: by
/// how often, on the way to a node, the host waits for a GPU; what waits equally often stays in order. So does what
/// writes a variable with what uses one, and what has other effects. Elsewhere `order` itself. `device_of`: by node.
std::vector<NodeId> order_for_host_waits(const Graph& graph, const DeviceSet& devices,
                                         const std::vector<DeviceId>& device_of, MemoryKinds& memory,
                                         const Pruned& pruned, std::vector<NodeId> order);

}  // namespace emplace
