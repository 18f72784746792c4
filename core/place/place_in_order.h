/// place() for a graph whose nodes TensorFlow numbers otherwise.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/place/placement.h"

namespace emplace {

/// `order`: all nodes in TensorFlow's order of ids, in which it places them; empty: the graph's own.
Result<Placement> place_in_order(const GraphFile& file, const DeviceSet& devices, const PlaceOptions& options,
                                 std::span<const NodeId> order, std::vector<std::string>& details,
                                 Placement* before_failure);

}  // namespace emplace
