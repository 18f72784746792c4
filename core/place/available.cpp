// Part of core/place/placement.h: --kernels available: what it has fewer kernels for.
#include <algorithm>

#include "core/graph/node_kernel.h"
#include "core/op/gpu_gaps.h"
#include "core/place/kernel_lookup.h"
#include "core/place/placement.h"

namespace emplace {
namespace {

bool lacks_gpu_kernel(const NodeType& type, OpTable& ops) {
  return find_gpu_gap(type.op, kernel_type(type)) && find_kernel(ops, type, "GPU");
}

}  // namespace

std::vector<NodeId> nodes_without_available_kernel(const GraphFile& file) {
  const Graph& graph = file.graph;
  std::vector<bool> missing;
  for (const NodeType& type : graph.types()) missing.push_back(type.signature && !is_runnable(type));
  std::vector<NodeId> nodes;
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    if (missing[graph.node(n).type]) nodes.push_back(n);
  }
  return nodes;
}

bool kernels_differ(const GraphFile& file, const DeviceSet& devices) {
  const bool has_gpu = std::any_of(devices.devices.begin(), devices.devices.end(),
                                   [](const Device& d) { return d.parsed.type == "GPU"; });
  const auto& types = file.graph.types();
  return has_gpu && std::any_of(types.begin(), types.end(),
                                [&](const NodeType& type) { return lacks_gpu_kernel(type, *file.ops); });
}

}  // namespace emplace
