// Part of core/place/placement.h: place(): groups, then two passes over the nodes (placer.cc). Nodes are placed in id
// order; generators wait for their consumers; the first placed member of a group pins the whole group.
#include <algorithm>

#include "core/base/cat.h"
#include "core/base/stop.h"
#include "core/place/function_calls.h"
#include "core/place/group_builder.h"
#include "core/place/place_errors.h"
#include "core/place/place_in_order.h"
#include "core/place/placer_state.h"
#include "core/place/reasons.h"

namespace emplace {
namespace {

class Placer {
 public:
  Placer(const GraphFile& file, const DeviceSet& devices, const PlaceOptions& options, std::span<const NodeId> order,
         std::vector<std::string>& details)
      : state_(std::make_shared<PlacerState>(file, devices, options, order)),
        graph_(state_->graph),
        groups_(state_->groups),
        failures_(*state_, placement_, details) {
    placement_.decisions.resize(graph_.num_nodes());
    placement_.order.reserve(graph_.num_nodes());
  }

  Result<Placement> run(Placement* before_failure) {
    check_called_functions(*state_, failures_);
    if (failures_.any()) return failures_.finish();
    GroupBuilder(*state_, placement_.decisions, failures_, placement_.notes, find_body_groups).build();
    count_consumers();
    RETURN_IF_ERROR(stop_status());
    first_pass();
    RETURN_IF_ERROR(stop_status());
    second_pass();
    if (failures_.any()) {
      if (before_failure) *before_failure = failures_.placed_before();
      return failures_.finish();
    }
    for (NodeId node = 0; node < graph_.num_nodes(); ++node) placement_.decisions[node].group = groups_.root(node);
    placement_.state = state_;
    return std::move(placement_);
  }

 private:
  // A device that a rule prefers to the first candidate.
  struct Preference {
    DeviceId device = kNoDevice;
    Reason reason = Reason::kNone;
    NodeId because = kNoNode;
  };

  void count_consumers();
  void first_pass();
  void second_pass();
  void place_node(NodeId node, const Preference& preference);
  Preference prefer_source(NodeId node) const;
  bool same_request_around(NodeId identity, NodeId source) const;
  bool leads_nowhere(NodeId node) const;
  bool pin(NodeId node, DeviceId device);
  void warn_moved_resources(NodeId node, const CandidateFinder::Found& found);

  DeviceId device(NodeId node) const { return placement_.decisions[node].device; }

  std::shared_ptr<PlacerState> state_;
  const Graph& graph_;
  Groups& groups_;
  Placement placement_;
  PlaceFailures failures_;
  std::vector<NodeId> generators_;  // placed in the second pass
  struct Consumers {
    NodeId first = kNoNode;
    bool several = false;  // edges
  };
  std::vector<Consumers> consumers_;  // by source
};

void Placer::count_consumers() {
  consumers_.resize(graph_.num_nodes());
  const auto add = [this](NodeId source, NodeId consumer) {
    Consumers& c = consumers_[source];
    c.several = c.first != kNoNode;
    if (!c.several) c.first = consumer;
  };
  std::vector<NodeId> controls;
  for (NodeId node = 0; node < graph_.num_nodes(); ++node) {
    for (Endpoint e : graph_.inputs(node)) add(e.node, node);
    const auto control_edges = graph_.controls(node);
    if (control_edges.size() == 1) add(control_edges[0].node, node);
    if (control_edges.size() <= 1) continue;
    controls.clear();  // a repeated control edge is one edge
    for (Endpoint e : control_edges) controls.push_back(e.node);
    std::sort(controls.begin(), controls.end());
    controls.erase(std::unique(controls.begin(), controls.end()), controls.end());
    for (NodeId source : controls) add(source, node);
  }
}

void Placer::first_pass() {
  OccasionalLook look;
  for (NodeId i = 0; i < graph_.num_nodes() && !look.stop_requested(); ++i) {
    const NodeId node = state_->in_order(i);
    const TypeFacts& facts = state_->facts(node);
    if (placement_.decisions[node].reason == Reason::kAssigned) {
      if (!groups_.at(groups_.root(node)).broken && pin(node, device(node))) placement_.order.push_back(node);
    } else if (facts.generator) {
      generators_.push_back(node);
    } else {
      place_node(node, facts.metadata || facts.identity ? prefer_source(node) : Preference{});
    }
  }
}

// Metadata ops, and an Identity between nodes that ask for the same, are placed with their source.
Placer::Preference Placer::prefer_source(NodeId node) const {
  const auto inputs = graph_.inputs(node);
  if (inputs.empty()) return {};
  const NodeId source = inputs[0].node;
  if (device(source) == kNoDevice) return {};
  if (state_->facts(node).metadata) return {device(source), Reason::kMetadataWithInput, source};
  if (!same_request_around(node, source)) return {};
  return {device(source), Reason::kIdentityWithSource, source};
}

bool Placer::same_request_around(NodeId identity, NodeId source) const {
  if (!state_->requested_text(identity).empty()) return false;
  if (graph_.inputs(identity).size() != 1 || !graph_.controls(identity).empty()) return false;
  const Consumers& c = consumers_[identity];
  if (c.several || (c.first == kNoNode && state_->facts(source).inspected_call)) return false;
  const std::string_view consumer_request = c.first == kNoNode ? std::string_view{} : state_->requested_text(c.first);
  return state_->requested_text(source) == consumer_request;
}

// A call whose result nobody reads has an Identity behind it (isolate_calls.h), and still the edge of a node without
// consumers, to TensorFlow's SINK, which is on no device.
bool Placer::leads_nowhere(NodeId node) const {
  if (!state_->facts(node).inspected_call) return false;
  const Consumers& c = consumers_[node];
  return !c.several && c.first != kNoNode && graph_.inputs(c.first).size() == 1 && consumers_[c.first].first == kNoNode;
}

// A generator goes where its consumers are, if they are all on one device.
void Placer::second_pass() {
  if (generators_.empty()) return;
  constexpr DeviceId kUnseen = kNoDevice - 1, kDiffer = kNoDevice - 2;
  std::vector<DeviceId> common(graph_.num_nodes(), kUnseen);
  const auto add = [&](NodeId source, DeviceId of_consumer) {
    DeviceId& d = common[source];
    d = d == kUnseen || d == of_consumer ? of_consumer : kDiffer;
  };
  for (NodeId node = 0; node < graph_.num_nodes(); ++node) {
    for (Endpoint e : graph_.inputs(node)) add(e.node, device(node));
    for (Endpoint e : graph_.controls(node)) add(e.node, device(node));
  }
  for (NodeId node : generators_) {
    const DeviceId d = leads_nowhere(node) ? kDiffer : common[node];
    if (d == kUnseen || d == kDiffer || d == kNoDevice) {
      place_node(node, {});
    } else {
      place_node(node, {d, Reason::kGeneratorWithConsumer, consumers_[node].first});
    }
  }
}

void Placer::place_node(NodeId node, const Preference& preference) {
  Member& root = groups_.at(groups_.root(node));
  if (root.broken) return;
  const CandidateFinder::Found& found = state_->candidates.find(root, state_->options.allow_soft_placement);
  if (found.devices.empty()) {
    failures_.no_candidate(node);
    root.broken = true;
    return;
  }
  if (found.relaxed == 2 && root.pinned == kNoDevice) warn_moved_resources(node, found);

  const bool preferred = preference.device != kNoDevice && found.contains(preference.device);
  Decision& decision = placement_.decisions[node];
  decision.device = preferred ? preference.device : found.devices.front();
  // A preference decides something only where there was a choice.
  if (preferred && found.devices.size() > 1) {
    decision.reason = preference.reason;
    decision.because = preference.because;
  } else {
    give_reason(*state_, node, found, decision);
  }
  if (root.pinned == kNoDevice) root.relaxed = found.relaxed & 3;
  if (pin(node, decision.device)) placement_.order.push_back(node);
}

// Limits the group to the device of its first placed member.
bool Placer::pin(NodeId node, DeviceId device) {
  Member& root = groups_.at(groups_.root(node));
  if (root.pinned == device) return true;
  if (root.pinned == kNoDevice) {
    root.asked = root.requested;
    root.first = node;
  }
  const NameId name = state_->device_names[device];
  const auto fail = [&](std::string_view whose, NameId before, const Status& why) {
    failures_.cannot_pin(
        node, internal_error(cat("Constraining by assigned device should not cause an error. Original root's ", whose,
                                 " device name: ", state_->names.text(before), " node's assigned device name \"",
                                 state_->devices.at(device).name, ". Error: ", why.message())));
    root.broken = true;
    return false;
  };
  const Result<NameId> assigned = state_->names.merge(root.assigned, name, MergeMode::kStrict);
  if (!assigned.ok()) return fail("assigned", root.assigned, assigned.status());
  const Result<NameId> resource = state_->names.merge(root.resource, name, MergeMode::kOverride);
  if (!resource.ok()) return fail("resource", root.resource, resource.status());
  const Result<NameId> requested = state_->names.merge(root.requested, name, MergeMode::kOverride);
  if (!requested.ok()) return fail("requested", root.requested, requested.status());
  root.assigned = *assigned;
  root.resource = *resource;
  root.requested = *requested;
  root.pinned = device;
  return true;
}

void Placer::warn_moved_resources(NodeId node, const CandidateFinder::Found& found) {
  std::string names;
  for (DeviceId d : found.devices) append(names, "\n  ", state_->devices.at(d).name);
  placement_.notes.emplace_back(
      kWarning, cat("Failed to place the graph without changing the devices of some resources. Some of the operations "
                    "(that had to be colocated with resource generating operations) are not supported on the "
                    "resources' devices. Current candidate devices are [",
                    names, "].\nSee below for details of this colocation group:", failures_.debug_info(node)));
}

}  // namespace

Result<Placement> place_in_order(const GraphFile& file, const DeviceSet& devices, const PlaceOptions& options,
                                 std::span<const NodeId> order, std::vector<std::string>& details,
                                 Placement* before_failure) {
  if (devices.devices.empty()) return failed_precondition("No devices are registered");
  return Placer(file, devices, options, order, details).run(before_failure);
}

Result<Placement> place(const GraphFile& file, const DeviceSet& devices, const PlaceOptions& options,
                        std::vector<std::string>& details, Placement* before_failure) {
  return place_in_order(file, devices, options, {}, details, before_failure);
}

}  // namespace emplace
