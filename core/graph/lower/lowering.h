/// Lowering: goes over a graph and replaces its functional nodes, those in what it makes of them too.
#pragma once

#include <memory>
#include <vector>

#include "core/graph/lower/bodies.h"
#include "core/graph/lower/growing_graph.h"
#include "core/graph/lower/inliner.h"
#include "core/graph/lower/lowered.h"

namespace emplace {

class Lowering {
 public:
  /// The result goes to `target`. `instances` as in Bodies.
  Lowering(const GraphFile& file, const LowerOptions& options, Graph& target, Lowered& lowered,
           std::vector<std::unique_ptr<Graph>>& instances)
      : options_(options),
        bodies_(file, target, instances),
        grown_(file, options, target, lowered.origins, bodies_),
        inliner_(grown_, options, bodies_) {}

  /// Replaces what is to be replaced, node for node, to the growing end.
  Status run();
  int64_t failed_at() const { return grown_.failed_at(); }
  /// As GrowingGraph::finish().
  std::vector<uint32_t> finish() { return grown_.finish(); }

 private:
  Status visit(NodeId node);
  Status lower_control_flow(NodeId node, FunctionalOp kind);

  const LowerOptions& options_;
  Bodies bodies_;
  GrowingGraph grown_;
  Inliner inliner_;
};

}  // namespace emplace
