/// The difference of two placements: what `emplace diff` prints. Never changed once made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/report/diff/placement_view.h"

namespace emplace {

/// Nodes of one group that went the same way are one of these.
struct MovedNodes {
  std::string name, from, to;          // the node of the group that stands first in b
  std::string reason_before, reason;   // empty: not known
  std::string follows;                 // a moved node that it goes with; empty: none
  std::vector<std::string> colocated;  // the others of its group
};

struct ChangedReason {
  std::string name, before, after;
};

struct ChangedNode {
  std::string name;
  bool op = false, inputs = false, contents = false;  // contents: attributes and shapes
};

struct ChangedPeak {
  std::string device;
  std::optional<int64_t> before, after;  // bytes
};

struct PlacementDiff {
  size_t nodes = 0;  // of b
  size_t num_moved = 0;
  std::vector<MovedNodes> moved;
  std::vector<ChangedReason> reasons;  // of nodes that did not move
  std::vector<ChangedNode> changed;
  std::vector<std::pair<std::string, std::string>> renamed;
  std::vector<std::string> added, removed;
  bool copies_known = false;
  size_t copies_before = 0, copies_after = 0;
  int64_t bytes_before = 0, bytes_after = 0;      // of copies whose size is known
  std::vector<CopyView> new_copies, gone_copies;  // larger ones first
  std::vector<ChangedPeak> peaks;
  std::vector<std::string> new_devices, gone_devices;

  /// Nothing moved, nothing is there for another reason, graphs and copies are the same. Peaks follow from these.
  bool same() const;
};

PlacementDiff diff_placements(const PlacementView& a, const PlacementView& b);

}  // namespace emplace
