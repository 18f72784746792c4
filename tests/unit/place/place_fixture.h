/// A small graph in text, placed on devices given by name: what the tests of placement share.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/partition/copies.h"
#include "core/place/placement.h"

namespace emplace {

/// Local names ("CPU:0 GPU:0") become devices of /job:localhost/replica:0/task:0; full names stay.
DeviceSet device_set(std::string_view names);

class PlacedGraph {
 public:
  /// `nodes`: the entries of the list `node` of a graph file, hand-written form. Fails the test if they are wrong.
  explicit PlacedGraph(const std::string& nodes, std::string_view devices = "CPU:0 GPU:0");

  PlacedGraph& soft() {
    options.allow_soft_placement = true;
    return *this;
  }
  PlacedGraph& log() {
    options.log_device_placement = true;
    return *this;
  }
  PlacedGraph& assign(std::string_view node, const std::string& device);
  /// Places now; fails the test if that fails.
  PlacedGraph& place();
  /// The status of placing.
  Status failure();

  NodeId id(std::string_view node) const;
  /// "GPU:0"; of several tasks, the full name.
  std::string device(std::string_view node) const;
  std::string reason(std::string_view node) const;
  std::string text(std::string_view node) const;
  /// "CPU:0 chosen, GPU:0 no_kernel".
  std::string candidates(std::string_view node) const;
  /// "r c": names in assignment order.
  std::string order() const;
  CopyPlan copies() const;

  std::unique_ptr<GraphFile> file;
  DeviceSet devices;
  PlaceOptions options;
  std::vector<std::string> offenders;  // of failure(), without the positions with which they begin
  Placement placement;
};

}  // namespace emplace
