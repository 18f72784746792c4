#include "core/place/by_cost.h"

#include "core/place/placer_state.h"

namespace emplace {

std::vector<DeviceId> devices_left(const Placement& placement, NodeId node) {
  const Decision& decision = placement.of(node);
  if (decision.reason == Reason::kAssigned) return {decision.device};
  std::vector<DeviceId> devices;
  for (const Candidate& c : candidates_of(placement, node)) {
    if (c.verdict == Verdict::kChosen || c.verdict == Verdict::kCandidate) devices.push_back(c.device);
  }
  return devices;
}

void choose_by_cost(Placement& placement, const std::function<const CostChoice*(uint32_t group)>& choice) {
  // place() made the state, as one that can be changed.
  PlacerState& state = *std::const_pointer_cast<PlacerState>(placement.state);
  for (NodeId node = 0; node < placement.decisions.size(); ++node) {
    Decision& d = placement.decisions[node];
    const CostChoice* chosen = choice(d.group);
    if (!chosen) continue;
    d.device = chosen->device;
    // Who follows another member of the group still does.
    const bool tied =
        d.reason == Reason::kColocated || d.reason == Reason::kResourceEdge || d.reason == Reason::kReferenceEdge;
    if (tied && d.because != kNoNode && d.because != node) continue;
    d.reason = Reason::kCost;
    d.because = node;
    state.cost_texts.try_emplace(d.group, chosen->text);
  }
}

}  // namespace emplace
