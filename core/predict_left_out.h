/// predict_left_out(): what a run will not launch, said before it.
#pragma once

#include <vector>

#include "core/pipeline_values.h"
#include "core/plan/undone_transposes.h"

namespace emplace {

/// What a run leaves out since nobody needs it, as far as that is known before it: nodes of the placed graph. An error
/// is that of a flag which names what to run.
Result<std::vector<LeftOut>> predict_left_out(const StageContext& context, const Placed& placed);

}  // namespace emplace
