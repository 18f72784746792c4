/// What would have to change for a node to be on another device: proposals, each tried by placing the graph again.
#pragma once

#include <string>
#include <vector>

#include "core/place/placement.h"

namespace emplace {

struct Change {
  std::string text;             // "request /device:CPU:0 on it"
  DeviceId device = kNoDevice;  // where the node would be then
  std::vector<NodeId> moves;    // the other nodes that would be elsewhere than now, in id order
};

struct ChangeSearch {
  std::vector<Change> works;           // the smallest first; at most one
  std::vector<std::string> obstacles;  // what stands in the way, whatever is requested
};

/// Looks for the smallest change that brings `node` to a device that matches `wanted`.
ChangeSearch find_change(const GraphFile& file, const DeviceSet& devices, const PlaceOptions& options,
                         const Placement& placement, NodeId node, const DeviceName& wanted);

}  // namespace emplace
