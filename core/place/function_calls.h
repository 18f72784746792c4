/// Calls of library functions that return resources: what their bodies demand of the nodes around the call
/// (InspectingPlacer in inspecting_placer.cc).
#pragma once

#include <string>
#include <vector>

#include "core/place/call_stack.h"

namespace emplace {

class PlaceFailures;
/// Adds a failure for every call that may have to be looked into and whose function the library lacks.
void check_called_functions(const PlacerState& state, PlaceFailures& failures);

/// As BodyGroupsFinder says.
Result<BodyGroups> find_body_groups(const PlacerState& outer, NodeId call, const CallStack& stack,
                                    std::vector<std::string>& lines);

}  // namespace emplace
