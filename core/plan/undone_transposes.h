/// share_undone(): Transposes that undo each other are not launched. Models that keep channels behind the batch become
/// graphs in which nearly every node stands between two of them (core/formats/onnx/layout.h); others, that a tool made
/// so, too. Done here, where no name is left: what a graph places, fetches and is fed stays as it is written.
#pragma once

#include <vector>

#include "core/partition/step_request.h"
#include "core/place/placement.h"
#include "core/plan/plan.h"

namespace emplace {

/// A Transpose that is not launched.
struct LeftOut {
  NodeId node = kNoNode;
  NodeId undoes = kNoNode;  // or is undone by, of several the first; kNoNode: nobody reads its result
};

/// Of values in the plan's blocks: the second Transpose's result is in the bytes that the first one reads; the first
/// one is launched only if somebody else reads its result. Nobody may look at the step's values. What is not launched,
/// by node.
std::vector<LeftOut> share_undone(const Graph& graph, const Program& program, Plan& plan);

/// What a run will leave out, as far as shapes are known before it; by node. `feeds` are the request's. An error is one
/// that a run would end with, too.
Result<std::vector<LeftOut>> left_out_nodes(const GraphFile& file, const DeviceSet& devices, const Placement& placement,
                                            const StepRequest& request, const std::vector<Tensor>& feeds);

}  // namespace emplace
