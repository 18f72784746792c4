/// Signposts: at nodes that were replaced, what stands for their outputs and for them in control edges.
#pragma once

#include <span>
#include <vector>

#include "core/graph/graph.h"

namespace emplace {

class Signposts {
 public:
  void put(NodeId node, std::span<const Endpoint> outputs, NodeId control);
  bool stands_at(NodeId node) const { return node < by_node_.size() && by_node_[node] != kNone; }
  /// What the output is by now: replaced nodes may have been replaced by others that were, too.
  Endpoint follow(Endpoint output) const;
  NodeId follow_control(NodeId node) const;

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  struct Signpost {
    uint32_t first_output;  // in outputs_
    NodeId control;
  };
  std::vector<uint32_t> by_node_;  // index of its signpost
  std::vector<Signpost> signposts_;
  std::vector<Endpoint> outputs_;
};

}  // namespace emplace
