/// What copies between the memories of devices take, measured by themselves.
#pragma once

#include <vector>

#include "core/pipeline.h"
#include "core/report/bench/node_costs.h"

namespace emplace {

/// Copies of 4 KiB to 64 MiB, less where memory ends before: to and from the first GPU, and to the second one; of real
/// GPUs, both ways at once, too. None without a GPU. `context`: of the graph that is measured, whose devices they are.
Result<std::vector<CopyCost>> measure_links(const StageContext& context);

}  // namespace emplace
