/// plan_memory(): how long every buffer is needed, and where it lies. Time is counted in instructions; a fused group is
/// one moment.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/graph_file.h"
#include "core/plan/plan.h"

namespace emplace {

/// Lifetimes and offsets, once the groups are known: a group's inputs and outputs are alive for all of it, and what
/// nobody outside reads needs no memory. `lanes` (by InstructionId, or empty): memory passes from instruction to
/// instruction of one lane only, so that lanes can run beside each other.
void plan_memory(const GraphFile& file, const Program& program, Plan& plan, const std::vector<uint8_t>& lanes = {});

}  // namespace emplace
