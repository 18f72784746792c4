/// Frames: an order of a step's nodes in which every loop is one piece.
#pragma once

#include <vector>

#include "core/partition/frame_map.h"

namespace emplace {

class Frames {
 public:
  struct Item {
    NodeId node = kNoNode;  // kNoNode: a frame begins here
    FrameId frame = kRootFrame;
    uint32_t size = 0;  // of a frame: how many items follow that belong to it
  };

  /// InvalidArgument: a node with inputs of different frames, or a loop that waits for itself.
  static Result<Frames> find(const Graph& graph, const Pruned& pruned);

  const std::vector<Item>& order() const { return order_; }

 private:
  struct Builder;
  std::vector<Item> order_;
};

}  // namespace emplace
