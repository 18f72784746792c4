/// Placement changed from outside the file: --clear-devices, --map-device, --place and saved placements.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/place/placement.h"

namespace emplace {

struct RequestRules {
  bool clear_devices = false;                // first: every request of the file is dropped
  std::vector<std::string> map_device = {};  // then "GPU:1=GPU:0": a request for the left names the right
  std::vector<std::string> place = {};  // last "REGEX=DEVICE": the last rule whose regex matches a whole node name wins
  bool place_gradients = false;         // a rule of `place` is for the gradients of what it matches, too
};

/// Can the rules be read? InvalidArgument: no '=', a malformed regex or device.
Status check_request_rules(const RequestRules& rules);

/// Fills options.overrides and options.clear_devices. InvalidArgument: no '=', a malformed regex or device, and a
/// --place rule that matches no node. A rule that changes nothing is a warning, and so is one of --place that leaves
/// the gradients of what it matches behind.
Status resolve_requests(const Graph& graph, const RequestRules& rules, PlaceOptions& options,
                        std::vector<std::string>& warnings);

/// Reads a saved placement: what save_placement() wrote, or the document of `place --format json`. Node and device
/// of each entry, in the document's order. InvalidArgument lists everything wrong with it: nodes that the graph lacks
/// too.
Result<std::vector<std::pair<NodeId, std::string>>> read_placement(const Graph& graph, const std::string& path);

/// The text of --placement-out: a JSON document with name, op and device of every node, in assignment order.
std::string save_placement(const Graph& graph, const DeviceSet& devices, const Placement& placement);

/// The first 16 hex digits of a SHA-256 over (name, device) of all nodes, sorted by name.
std::string placement_hash(const Graph& graph, const DeviceSet& devices, const Placement& placement);

}  // namespace emplace
