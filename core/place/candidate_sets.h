/// CandidateSets: what speaks for or against each device, kept once for all nodes for which it is the same. Nodes are
/// many and devices are many; how they see the devices is not.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "core/place/placement.h"
#include "core/place/placer_state.h"

namespace emplace {

/// The verdict on a device for `node`, whatever device was chosen.
Verdict verdict_on(const PlacerState& state, const Member& root, NodeId node, DeviceId device);

class CandidateSets {
 public:
  /// Number of the set of a node of this placement, from 0 on. A placement of other devices has its own CandidateSets.
  uint32_t of(const Placement& placement, NodeId node);
  uint32_t size() const { return static_cast<uint32_t>(sets_.size()); }
  /// By device. The chosen one of a node stands as what it would be otherwise.
  const std::vector<Verdict>& at(uint32_t set) const { return sets_[set]; }

 private:
  // What verdict_on() looks at: types of node and group, names asked for by group and node, what was dropped.
  using Key = std::tuple<TypesId, TypesId, NameId, NameId, bool, bool>;
  std::map<Key, uint32_t> known_;  // of placement_
  const PlacerState* placement_ = nullptr;
  std::map<std::vector<Verdict>, uint32_t> numbers_;
  std::vector<std::vector<Verdict>> sets_;
};

}  // namespace emplace
