/// Zeros for a list of tensors: as long as that, and nothing in it set.
#pragma once

#include "core/train/gradient_node.h"

namespace emplace {

/// Where `node` adds. In a loop of gradients, no list of the forward loop is kept for it, only lengths and shapes.
Value zeros_of_list(NodeGradient& node, Value list);

}  // namespace emplace
