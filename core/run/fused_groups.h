/// Which instructions become one fused kernel (core/run/fused_kernel.h).
#pragma once

#include <vector>

#include "core/plan/plain_loops.h"
#include "core/plan/plan.h"
#include "core/run/bound_instruction.h"

namespace emplace {

/// Which prepared instructions can be fused: neighbours in launch order, outside of loops or in a plain one, on one
/// device, over equally many elements, each reading what another of them made where that is more than a tile. Sets
/// plan.groups, and why they are no larger. REQUIRES: every kDirect instruction is prepared.
void find_groups(const Program& program, const std::vector<BoundInstruction>& bound,
                 const std::vector<PlainLoop>& loops, Plan& plan);

/// Its instructions, ascending.
std::vector<InstructionId> all_of(const FusedGroup& group);

}  // namespace emplace
