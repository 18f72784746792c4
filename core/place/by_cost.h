/// Devices chosen by cost, where TensorFlow's rules leave a choice: a finished placement with groups moved.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/place/placement.h"

namespace emplace {

/// Devices on which the group of `node` may be, by id: those of its candidates. What was placed beforehand stays.
std::vector<DeviceId> devices_left(const Placement& placement, NodeId node);

/// What choose_by_cost() is told of a node's group.
struct CostChoice {
  DeviceId device = kNoDevice;
  std::string text;  // why there, and what it would cost elsewhere
};
/// Moves groups: `choice` by the group's number (Decision::group); none for those that stay as they are. REQUIRES:
/// nobody else has the placement yet; every device is among devices_left().
void choose_by_cost(Placement& placement, const std::function<const CostChoice*(uint32_t group)>& choice);

}  // namespace emplace
