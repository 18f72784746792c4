/// Which nodes are not where their requests say: the one count of summaries, documents and gates.
#pragma once

#include <cstdint>

#include "core/place/placement.h"

namespace emplace {

/// Its own request names another device, whatever the node followed to where it is.
bool is_elsewhere(const Graph& graph, const DeviceSet& devices, const PlaceOptions& options, const Placement& placement,
                  NodeId node);
/// The same by leave of soft placement, or moved by it together with others; not by a saved placement.
bool is_moved_softly(const Graph& graph, const DeviceSet& devices, const PlaceOptions& options,
                     const Placement& placement, NodeId node);
int64_t count_moved_softly(const Graph& graph, const DeviceSet& devices, const PlaceOptions& options,
                           const Placement& placement);

}  // namespace emplace
