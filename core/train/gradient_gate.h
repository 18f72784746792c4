/// gate_gradients(): makes an op's gradients wait for each other (gate_gradients=GATE_OP, control_flow_ops.tuple()).
#pragma once

#include <vector>

#include "core/train/gradient_node.h"
#include "core/train/loops/loop_places.h"

namespace emplace {

/// Puts a node behind each of `results` that passes it on once all of them are there; results of one node stay as they
/// are. `loops`: null if there are none.
void gate_gradients(GraphEditor& edit, LoopPlaces* loops, const NodeGradient& node,
                    std::vector<PartialGradient>& results);

}  // namespace emplace
