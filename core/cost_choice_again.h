/// cost_choice_again(): --auto once more, for a graph with other requests.
#pragma once

#include "core/pipeline_values.h"
#include "core/place/changes.h"

namespace emplace {

/// Searches as --auto did, without a word. Empty without --auto. Both references must outlive what is returned.
PlaceByCost cost_choice_again(const StageContext& context, const Placed& placed);

}  // namespace emplace
