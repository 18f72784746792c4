/// Decides which values get a place in a device's planned block, and which instructions need no kernel in a step.
#pragma once

#include "core/graph/graph_file.h"
#include "core/plan/plain_loops.h"
#include "core/plan/plan.h"

namespace emplace {

/// kBlock for what is settled, and the modes that follow from it. REQUIRES: shapes are settled.
void choose_storage(const GraphFile& file, const DeviceSet& devices, const Program& program, Plan& plan,
                    const std::vector<PlainLoop>& loops = {});

}  // namespace emplace
