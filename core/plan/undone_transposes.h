/// share_undone(): Transposes that undo each other are not launched. Models that keep channels behind the batch become
/// graphs in which nearly every node stands between two of them (core/formats/onnx/layout.h); others, that a tool made
/// so, too. Done here, where no name is left: what a graph places, fetches and is fed stays as it is written.
#pragma once

#include "core/graph/graph.h"
#include "core/plan/plan.h"

namespace emplace {

/// Of values in the plan's blocks: the second Transpose's result is in the bytes that the first one reads; the first
/// one is launched only if somebody else reads its result. Nobody may watch the step. Returns how many are not
/// launched.
size_t share_undone(const Graph& graph, const Program& program, Plan& plan);

}  // namespace emplace
