/// Removes nodes that gradient functions added for nobody: they make gradients for all inputs and zeros for all outputs
/// of a node, of which often only some are used.
#pragma once

#include <span>

#include "core/train/loops/loop_places.h"

namespace emplace {

/// Removes the nodes from `num_forward` on that no node of `results` (kNoNode: none) needs. `loops`: null if there are
/// none. What only keeps a stack in order for others is not needed. What other gradients had no need of, such as exits
/// of loops, comes back if these need it.
void drop_unneeded(GraphEditor& edit, NodeId num_forward, std::span<const NodeId> results, const LoopPlaces* loops);

}  // namespace emplace
