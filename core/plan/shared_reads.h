/// share_reads(): reads of one variable that nobody can have written in between become one read. TensorFlow's graphs
/// have a read for every use.
#pragma once

#include "core/graph/graph.h"
#include "core/plan/plan.h"

namespace emplace {

/// Of values that arrive. What is shared is not launched, so nobody may watch the step.
void share_reads(const Graph& graph, const Program& program, Plan& plan);

}  // namespace emplace
