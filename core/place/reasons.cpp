#include "core/place/reasons.h"

#include <algorithm>

namespace emplace {
namespace {

Reason reason_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::kReferenceEdge:
      return Reason::kReferenceEdge;
    case LinkKind::kColocation:
      return Reason::kColocated;
    default:
      return Reason::kResourceEdge;  // also to a call whose function demands something
  }
}

// Why a node is not where it asked to be.
Reason unmet_request(const PlacerState& state, const Member& member, NameId own, int relaxed, TypesId types) {
  if (!state.options.allow_soft_placement) return reason_of(member.link);
  const std::vector<DeviceId> wanted = state.candidates.matching(state.names.at(own));
  if (wanted.empty()) return Reason::kSoftNoDevice;
  if (relaxed == 2) return Reason::kSoftMovedWithResource;
  const bool kernel_there = std::any_of(wanted.begin(), wanted.end(),
                                        [&](DeviceId d) { return state.lists.has(types, state.lists.type_of(d)); });
  if (!kernel_there || relaxed == 1) return Reason::kSoftNoKernel;
  return reason_of(member.link);
}

bool has_body_demand(const PlacerState& state, NodeId node) {
  return std::any_of(state.body_demands.begin(), state.body_demands.end(),
                     [&](const BodyDemand& d) { return state.groups.root(d.node) == state.groups.root(node); });
}

}  // namespace

void give_reason(PlacerState& state, NodeId node, const CandidateFinder::Found& found, Decision& decision) {
  const Member& member = state.groups.at(node);
  const Member& root = state.groups.at(state.groups.root(node));
  const NameId own = *state.requested_name(node);
  const TypeFacts& facts = state.facts(node);
  const bool pinned = root.pinned != kNoDevice;
  decision.because = pinned ? root.first : kNoNode;

  if (own != kNoName) {
    if (!state.names.at(own).matches(state.devices.at(decision.device).parsed)) {
      decision.reason = unmet_request(state, member, own, pinned ? root.relaxed : found.relaxed, facts.types);
    } else if (state.is_override(node)) {
      decision.reason = Reason::kOverride;
    } else if (state.num_matching(own) == 1) {
      decision.reason = Reason::kRequested;
    } else {
      decision.reason = pinned ? reason_of(member.link) : Reason::kPartialRequest;
    }
    return;
  }
  if (root.host_only && (facts.variant_input || !pinned)) {
    decision.reason = Reason::kHostVariant;
  } else if (pinned || root.requested != kNoName) {
    decision.reason = reason_of(member.link);
  } else if (state.lists.at(root.types).size() == 1 && state.lists.types().size() > 1) {
    // A lone node's types were limited by a call's function, or they are all but XLA's.
    const bool limited = member.link != LinkKind::kNone || has_body_demand(state, node);
    decision.reason = state.lists.at(facts.types).size() == 1 ? Reason::kOnlyKernel
                      : limited                               ? reason_of(member.link)
                                                              : Reason::kDefault;
  } else if (const auto& best = state.lists.at(root.types).front(); best.priority > 0 && found.devices.size() > 1) {
    const auto& all = state.lists.at(root.types);
    const bool reordered = std::any_of(all.begin(), all.end(), [&](const auto& s) { return s.type < best.type; });
    decision.reason = reordered ? Reason::kKernelPriority : Reason::kDefault;
  } else {
    decision.reason = Reason::kDefault;
  }
}

}  // namespace emplace
