/// What kernels take beside their outputs, before any of them runs.
#pragma once

#include "core/op/kernel.h"
#include "core/plan/plan.h"

namespace emplace {

/// Of the instruction's kernel for the CPU, which a simulated GPU runs, too: it is made and prepared on shapes alone.
/// Nothing where shapes are not settled, or memory is the business of the op (variables, random numbers, text).
Workspace workspace_of(const Graph& graph, const Program& program, const Plan& plan, InstructionId instruction);

}  // namespace emplace
