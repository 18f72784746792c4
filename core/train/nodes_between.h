/// NodesBetween: the nodes through which a loss depends on some tensors, which are those that gradients go through.
#pragma once

#include <span>
#include <vector>

#include "core/graph/graph.h"

namespace emplace {

class NodesBetween {
 public:
  /// Of the graph as it is now: nodes that are added later may not be asked for.
  NodesBetween(const Graph& graph, Endpoint loss, std::span<const Endpoint> xs);

  bool contains(NodeId id) const { return is_between_[id]; }
  /// Those near the loss first, then those that were added.
  const std::vector<NodeId>& nodes() const { return nodes_; }
  /// A node that gradients go through although nothing of it reaches the loss: the Exit of a loop of which another
  /// does.
  void add(NodeId id);

  /// By node: by how many inputs of these nodes it is read; 0: it is not one of them.
  std::vector<int64_t> num_readers() const;
  /// Is it an x below which nothing leads to another x? Its own gradient is wanted, not what comes before it.
  bool is_end(NodeId id) const;

 private:
  std::vector<bool> reached_by_xs() const;

  const Graph& graph_;
  std::span<const Endpoint> xs_;
  std::vector<bool> is_between_;
  std::vector<NodeId> nodes_;
};

}  // namespace emplace
