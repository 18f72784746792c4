/// What is said of nodes that a run leaves out (core/plan/undone_transposes.h).
#pragma once

#include <span>
#include <string>

#include "core/graph/graph.h"
#include "core/plan/undone_transposes.h"

namespace emplace {

/// "not launched: it and conv2/Transpose undo each other"
std::string left_out_text(const Graph& graph, const LeftOut& left_out);

/// "104 nodes are not launched, such as conv1: it and conv2/Transpose undo each other"; empty if there are none.
std::string left_out_summary(const Graph& graph, std::span<const LeftOut> left_out);

/// Null: the run launches it. REQUIRES: `left_out` is by node.
const LeftOut* find_left_out(std::span<const LeftOut> left_out, NodeId node);

}  // namespace emplace
