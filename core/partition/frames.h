/// Frames: which loop every node of a step runs in, and an order of the nodes in which a loop is one piece.
#pragma once

#include <cstdint>
#include <vector>

#include "core/partition/prune.h"

namespace emplace {

/// Plays the part of TensorFlow's control flow analysis (graph/control_flow.cc) for graphs with loops.
class Frames {
 public:
  struct Item {
    NodeId node = kNoNode;     // kNoNode: a frame begins here
    uint32_t frame = 0;
    uint32_t size = 0;         // of a frame: how many items follow that belong to it
  };

  /// InvalidArgument: a node with inputs of different frames, or a loop that waits for itself.
  static Result<Frames> find(const Graph& graph, const Pruned& pruned);

  const std::vector<Item>& order() const { return order_; }

 private:
  struct Builder;
  std::vector<Item> order_;
};

Control control_of(std::string_view op);

}  // namespace emplace
