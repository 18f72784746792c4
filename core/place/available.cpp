// Part of core/place/placement.h: --kernels available: which nodes it leaves without a kernel.
#include "core/place/kernel_lookup.h"
#include "core/place/placement.h"

namespace emplace {

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

}  // namespace emplace
