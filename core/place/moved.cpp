#include "core/place/moved.h"

#include <algorithm>

namespace emplace {

bool is_elsewhere(const Graph& graph, const DeviceSet& devices, const PlaceOptions& options, const Placement& placement,
                  NodeId node) {
  const std::string_view request = requested_device(graph, options, node);
  if (request.empty()) return false;
  const std::optional<DeviceName> name = DeviceName::parse(request);
  return name && !name->matches(devices.at(placement.device(node)).parsed);
}

bool is_moved_softly(const Graph& graph, const DeviceSet& devices, const PlaceOptions& options,
                     const Placement& placement, NodeId node) {
  const Reason reason = placement.of(node).reason;
  return is_soft(reason) || (options.allow_soft_placement && reason != Reason::kAssigned &&
                             is_elsewhere(graph, devices, options, placement, node));
}

int64_t count_moved_softly(const Graph& graph, const DeviceSet& devices, const PlaceOptions& options,
                           const Placement& placement) {
  return std::count_if(placement.order.begin(), placement.order.end(),
                       [&](NodeId node) { return is_moved_softly(graph, devices, options, placement, node); });
}

}  // namespace emplace
