/// The zero gradient of a TensorList: a list of the same length whose elements are not set (TensorListReserve).
#pragma once

#include "core/train/gradient_node.h"

namespace emplace {

/// Where `node` adds. In a loop of gradients, no list of the forward loop is kept for it, only lengths and shapes.
Value zeros_of_list(NodeGradient& node, Value list);

}  // namespace emplace
