/// The first half of planning: which shapes and small values are settled before the run.
#pragma once

#include "core/plan/plan.h"

namespace emplace {

/// Fills shape, known and storage (kSlot or kFixed), and the modes as far as shapes decide them.
Status settle_shapes(const GraphFile& file, const DeviceSet& devices, const Program& program,
                     const std::vector<Tensor>& feeds, Plan& plan);

/// The second half: kBlock for what is settled, buffers, lifetimes and offsets.
void plan_memory(const GraphFile& file, const Program& program, Plan& plan);

}  // namespace emplace
