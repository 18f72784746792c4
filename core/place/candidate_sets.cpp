#include "core/place/candidate_sets.h"

namespace emplace {
namespace {

// What the group asked for before its first member was placed.
NameId asked_by_group(const Member& root) { return root.pinned != kNoDevice ? root.asked : root.requested; }

}  // namespace

Verdict verdict_on(const PlacerState& state, const Member& root, NodeId node, DeviceId device) {
  const uint16_t type = state.lists.type_of(device);
  if (!state.lists.has(state.facts(node).types, type)) return Verdict::kNoKernel;
  if (!state.lists.has(root.types, type)) return root.host_only ? Verdict::kHostOnly : Verdict::kGroupNoKernel;
  // As far as soft placement left it.
  Member before = root;
  before.requested = asked_by_group(root);
  before.assigned = before.resource = kNoName;
  const DeviceName asked = root.relaxed ? state.candidates.relaxed_name(before, 2) : state.names.at(before.requested);
  const DeviceName& name = state.devices.at(device).parsed;
  if (asked.matches(name)) return Verdict::kCandidate;
  return state.names.at(state.requested_name(node)).matches(name) ? Verdict::kGroupRequest : Verdict::kNotRequested;
}

uint32_t CandidateSets::of(const Placement& placement, NodeId node) {
  const PlacerState& state = *placement.state;
  if (placement_ != &state) {
    known_.clear();
    placement_ = &state;
  }
  const Member& root = state.groups.at(placement.of(node).group);
  const Key key{state.facts(node).types,    root.types,        asked_by_group(root),
                state.requested_name(node), root.relaxed != 0, root.host_only};
  const auto [it, is_new] = known_.try_emplace(key, 0);
  if (!is_new) return it->second;
  std::vector<Verdict> verdicts;
  for (DeviceId d = 0; d < state.devices.size(); ++d) verdicts.push_back(verdict_on(state, root, node, d));
  const auto [number, is_new_set] = numbers_.try_emplace(verdicts, size());
  if (is_new_set) sets_.push_back(std::move(verdicts));
  return it->second = number->second;
}

}  // namespace emplace
