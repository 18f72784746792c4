/// What would have to change for a node to be on another device: proposals, each tried by placing the graph again.
#pragma once

#include <functional>
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

/// What --auto does once TensorFlow's rule has placed a graph with these options: it moves groups, or says why not.
using PlaceByCost = std::function<Status(const PlaceOptions&, Placement&)>;

/// Looks for the smallest change that brings `node` to a device that matches `wanted`. `by_cost` made `placement` of
/// the rule's, and chooses anew for each change that is tried; empty: `placement` is the rule's.
ChangeSearch find_change(const GraphFile& file, const DeviceSet& devices, const PlaceOptions& options,
                         const Placement& placement, NodeId node, const DeviceName& wanted,
                         const PlaceByCost& by_cost = {});

}  // namespace emplace
