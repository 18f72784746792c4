/// ArrivedGradients: what readers of a tensor have sent back to it so far. A tensor's gradient is the sum of that.
#pragma once

#include <unordered_map>
#include <vector>

#include "core/train/gradient_node.h"

namespace emplace {

class ArrivedGradients {
 public:
  void put(Endpoint tensor, PartialGradient gradient);
  /// What came first, or after sum_up() the sum; not valid(): nothing came.
  PartialGradient first_at(Endpoint tensor) const;
  bool any_at(NodeId id) const;
  /// By output of a node: the sum of what arrived, in nodes that `node` adds; slices stay slices where all of it is.
  std::vector<PartialGradient> sum_up(NodeGradient& node, NodeId id);

 private:
  std::unordered_map<NodeId, std::vector<std::vector<PartialGradient>>> by_output_;
};

}  // namespace emplace
