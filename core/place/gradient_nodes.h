/// Which nodes are of a node's gradient: by the names that TensorFlow gives them, and `emplace train`.
#pragma once

#include "core/graph/graph.h"

namespace emplace {

/// The node that was differentiated: 'a/mm' of "gradients/a/mm_grad/MatMul", and of the gradient of that. kNoNode:
/// `node` is of no gradient.
NodeId differentiated_node(const Graph& graph, NodeId node);

}  // namespace emplace
