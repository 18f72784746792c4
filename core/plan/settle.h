/// settle(): what is known of a program before it runs, from its feeds: shapes, values that shapes depend on, and how
/// much is left to do for each instruction. Memory comes later (core/plan/memory_plan.h), once it is known what is
/// fused.
#pragma once

#include <vector>

#include "core/graph/graph_file.h"
#include "core/plan/plain_loops.h"
#include "core/plan/plan.h"

namespace emplace {

/// What constants alone decide (core/plan/constant_parts.h) is worked out with the plan, or by each step: who watches a
/// step sees all of it.
enum class Constants : uint8_t { kOnce, kInEachStep };

/// Shapes, known values, storage (no offsets yet) and modes. `feeds` are the request's. Inside of loops nothing is
/// known, but for these, which are plain. Errors carry a node's name.
Result<Plan> settle(const GraphFile& file, const DeviceSet& devices, const Program& program,
                    const std::vector<Tensor>& feeds, Constants constants = Constants::kOnce,
                    const std::vector<PlainLoop>& loops = {});

}  // namespace emplace
