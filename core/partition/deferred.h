/// DeferredNodes: what a step runs only once its guard (the loss) is known to be finite: updates of variables, and what
/// depends on them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/partition/prune.h"

namespace emplace {

/// Assign..., Apply..., Scatter... of a reference or of a resource.
bool writes_variable(const Graph& graph, NodeId node);

class DeferredNodes {
 public:
  /// Nodes that `guard` depends on are never put off.
  DeferredNodes(const Graph& graph, const Pruned& pruned, NodeId guard);
  bool contains(NodeId node) const { return deferred_[node]; }

 private:
  std::vector<uint8_t> deferred_;
};

}  // namespace emplace
