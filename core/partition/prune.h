/// Which nodes a step needs, and which tensors come from outside.
#pragma once

#include <cstdint>
#include <vector>

#include "core/partition/step_request.h"

namespace emplace {

class Pruned {
 public:
  Pruned(const Graph& graph, const StepRequest& request);

  bool needed(NodeId id) const { return needed_[id]; }
  const std::vector<NodeId>& nodes() const { return nodes_; }  // ascending
  /// Index in the request's feeds, -1: not fed.
  int feed_of(Endpoint e) const;
  /// Does a control edge from this node hold? Not from a fed placeholder: it never runs.
  bool orders(NodeId source) const;

 private:
  struct Feed {
    Endpoint tensor;
    int index;
  };
  const Graph& graph_;
  std::vector<uint8_t> needed_, fed_;  // by node
  std::vector<Feed> feeds_;            // by tensor
  std::vector<NodeId> nodes_;
};

}  // namespace emplace
