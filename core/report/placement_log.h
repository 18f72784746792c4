/// The placement in TensorFlow's log form, and in one line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/partition/copies.h"
#include "core/place/placement.h"

namespace emplace {

/// "Device mapping:\n/job:... -> device: 0, name: ...\n", or "Device mapping: no known devices.\n".
std::string device_mapping(const DeviceSet& devices);

/// "name: (Op): /job:.../device:GPU:0\n" per node, in assignment order; of up to `count` nodes from the `first` on.
std::string placement_lines(const Graph& graph, const DeviceSet& devices, const Placement& placement, size_t first = 0,
                            size_t count = SIZE_MAX);

/// "placed 412 nodes: GPU:0 380, CPU:0 32 | 2 moved by soft placement | 3 copies/step 14.2 MiB", without newline.
/// Whoever runs the graph adds " | peak ...". `moved_beside`: nodes that moved where another graph was placed which
/// this one was made from, or from which it will be made. `bytes_seen`: of the copies of a step that ran; constants of
/// other tasks are none of these, but made where they are read.
std::string placement_summary(const Graph& graph, const DeviceSet& devices, const PlaceOptions& options,
                              const Placement& placement, const CopyPlan& copies, int64_t moved_beside = 0,
                              std::optional<int64_t> bytes_seen = {});

}  // namespace emplace
