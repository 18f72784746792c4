/// The reason of a decision, taken where it is decided.
#pragma once

#include "core/place/placer_state.h"

namespace emplace {

/// Fills reason and because of `decision`, whose device was the best of `found`. Called before the group is pinned.
void give_reason(PlacerState& state, NodeId node, const CandidateFinder::Found& found, Decision& decision);

}  // namespace emplace
