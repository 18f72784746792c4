/// GradientPath: finds where between a loss and a node the gradient is lost, for messages that say so.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph.h"

namespace emplace {

/// May a gradient flow through a tensor of this type? (TensorFlow's IsTrainable.)
bool carries_gradient(DType type);
/// Is the gradient function of the node's op right for the node's types? (core/op/complex_gradients.h)
bool takes_gradient(const Graph& graph, NodeId node);

class GradientPath {
 public:
  /// `num_nodes`: of the forward graph, the nodes that were there first. `no_gradient`: inputs of nodes for which their
  /// op's gradient function had none.
  GradientPath(const Graph& graph, Endpoint loss, NodeId num_nodes,
               std::span<const std::pair<NodeId, uint32_t>> no_gradient)
      : graph_(graph), loss_(loss), num_nodes_(num_nodes), no_gradient_(no_gradient) {}

  /// "loss (Sum) <- y (Floor) <- x (Placeholder)": a shortest path. Empty if there is none.
  std::string text(NodeId to);
  /// Why no gradient reaches `x`.
  std::string why_not(Endpoint x);

 private:
  struct Step {
    NodeId reader = kNoNode;  // on the way to the loss
    uint32_t input = 0;       // of the reader
  };
  std::vector<NodeId> find(NodeId to);
  std::string loss_at(NodeId reader, uint32_t input) const;

  const Graph& graph_;
  Endpoint loss_;
  NodeId num_nodes_;
  std::span<const std::pair<NodeId, uint32_t>> no_gradient_;
  std::vector<Step> steps_;  // by node; made when first asked
};

}  // namespace emplace
