#include "core/place/group_builder.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/place/host_values.h"
#include "core/place/node_text.h"

namespace emplace {
namespace {

constexpr std::string_view kClassAttr = "_class";
constexpr std::string_view kGroupPrefix = "loc:@";

// By full name, in any spelling of it.
DeviceId find_device(const DeviceSet& devices, const std::string& name) {
  if (const DeviceId id = devices.find(name); id != kNoDevice) return id;
  const std::optional<DeviceName> parsed = DeviceName::parse(name);
  return parsed ? devices.find(parsed->to_string()) : kNoDevice;
}

}  // namespace

void GroupBuilder::build() {
  add_members();
  if (any_reference_input_ || any_variant_input_) tie_edges();
  if (any_variant_input_) limit_host_values();
  if (!inspected_calls_.empty()) apply_calls();
  colocate();
  exclude_xla_types();
}

// --- members ---

void GroupBuilder::add_members() {
  const auto& assigned = state_.options.assigned;
  for (const auto& [node, device] : assigned) {
    decisions_[node] = {find_device(state_.devices, device), Reason::kAssigned, 0, kNoNode};
    state_.use_device(decisions_[node].device);
  }
  for (NodeId i = 0; i < graph_.num_nodes(); ++i) {
    const NodeId node = state_.in_order(i);
    const TypeFacts& facts = state_.facts(node);
    any_reference_input_ |= facts.reference_input;
    any_variant_input_ |= facts.variant_input;
    if (facts.inspected_call) inspected_calls_.push_back(node);
    const auto given = assigned.empty() ? assigned.end()
                                        : std::lower_bound(assigned.begin(), assigned.end(), node,
                                                           [](const auto& a, NodeId n) { return a.first < n; });
    const bool is_given = given != assigned.end() && given->first == node;
    const bool good = is_given ? add_assigned_member(node, given->second) : add_member(node);
    if (!good) groups_.at(node).broken = true;
  }
}

bool GroupBuilder::add_member(NodeId node) {
  const TypeFacts& facts = state_.facts(node);
  Member& member = groups_.at(node);
  member.types = facts.types;
  const std::optional<NameId> request = state_.requested_name(node);
  if (facts.lookup_failed) {
    failures_.lookup_failed(node);
    return false;
  }
  if (facts.types == kNoTypes && !assume_remote_kernel(node)) {
    failures_.no_kernel(node);
    return false;
  }
  if (!request) {
    failures_.malformed_request(node);
    return false;
  }
  member.requested = *request;
  if (facts.handle_maker) member.resource = *request;
  return true;
}

bool GroupBuilder::add_assigned_member(NodeId node, const std::string& device) {
  const TypeFacts& facts = state_.facts(node);
  state_.requested_name(node);  // read for explanations; the placer ignores it
  if (facts.lookup_failed) {
    failures_.lookup_failed(node);
    return false;
  }
  const DeviceId id = decisions_[node].device;
  if (id == kNoDevice || !state_.lists.has(facts.types, state_.lists.type_of(id))) {
    failures_.bad_assigned_device(node, device, id);
    return false;
  }
  Member& member = groups_.at(node);
  member.types = facts.types;
  member.assigned = member.requested = state_.device_names[id];
  return true;
}

// A node for another task may have a kernel there that this process does not know.
bool GroupBuilder::assume_remote_kernel(NodeId node) {
  const std::optional<NameId> request = state_.requested_name(node);
  if (!request || !state_.devices.runnable || state_.facts(node).attr_mismatch) return false;
  if (state_.options.available_kernels_only) return false;
  const DeviceName& name = state_.names.at(*request);
  if (!state_.devices.at(0).parsed.different_address_space(name)) return false;
  std::vector<SupportedType> types;
  if (name.type) {
    types.push_back({state_.lists.add(*name.type), 0});
  } else {
    for (uint16_t t = 0; t < state_.lists.types().size(); ++t) types.push_back({t, 0});
  }
  groups_.at(node).types = state_.lists.intern(std::move(types));
  return true;
}

// --- reference and resource edges ---

void GroupBuilder::tie_edges() {
  std::vector<std::pair<NodeId, size_t>> back_edges;  // they have the last edge numbers
  for (NodeId n = 0; n < graph_.num_nodes(); ++n) {
    const NodeId node = state_.in_order(n);
    const TypeFacts& facts = state_.facts(node);
    if (!facts.reference_input && !(facts.variant_input && facts.dataset)) continue;
    const auto inputs = graph_.inputs(node);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!state_.is_before(inputs[i].node, node)) {
        back_edges.emplace_back(node, i);
      } else {
        tie_edge(inputs[i].node, node, edge_kind(inputs[i], node, i));
      }
    }
  }
  for (const auto& [node, i] : back_edges) {
    const Endpoint source = graph_.inputs(node)[i];
    tie_edge(source.node, node, edge_kind(source, node, i));
  }
}

LinkKind GroupBuilder::edge_kind(Endpoint source, NodeId consumer, size_t input) {
  if (state_.facts(source.node).inspected_call || state_.facts(consumer).inspected_call) return LinkKind::kNone;
  const DType type = graph_.type(consumer).input_types[input];
  if (type == DType::kVariant) {
    const bool datasets = state_.facts(source.node).dataset && state_.facts(consumer).dataset;
    return datasets ? LinkKind::kResourceEdge : LinkKind::kNone;
  }
  if (!state_.facts(consumer).reference_input) return LinkKind::kNone;  // exempt
  if (is_ref(type)) return LinkKind::kReferenceEdge;
  return type == DType::kResource ? LinkKind::kResourceEdge : LinkKind::kNone;
}

void GroupBuilder::tie_edge(NodeId source, NodeId consumer, LinkKind kind) {
  if (kind == LinkKind::kNone || broken(source) || broken(consumer)) return;
  if (!ensure_compatible(source, consumer, kind)) return;
  MergeFailure failure;
  if (!groups_.merge(source, consumer, soft_, {source, consumer, kind}, failure)) {
    failures_.cannot_merge_edge(source, consumer, kind, failure);
  }
}

bool GroupBuilder::ensure_compatible(NodeId source, NodeId consumer, LinkKind kind) {
  NameTable& names = state_.names;
  const Member& from = groups_.at(groups_.root(source));
  Member& to = groups_.at(groups_.root(consumer));
  if (!names.compatible(from.assigned, to.assigned)) {
    failures_.fixed_devices_differ(source, consumer, kind, true);
    return false;
  }
  if (!names.compatible(from.resource, to.resource)) {
    failures_.fixed_devices_differ(source, consumer, kind, false);
    return false;
  }
  if (names.compatible(from.requested, to.requested)) return true;
  // The source wins, whatever the consumer asks for, with and without soft placement.
  if (state_.options.log_device_placement) {
    notes_.emplace_back(
        kInfo, cat("Ignoring device specification ", names.text(to.requested), " for node '", graph_.name(consumer),
                   "' because the input edge from '", graph_.name(source),
                   "' is a reference connection and already has a device field set to ", names.text(from.requested)));
  }
  to.requested = names.specify(names.specify(from.requested, to.assigned), to.resource);
  return true;
}

// --- values that live in host memory ---

void GroupBuilder::limit_host_values() {
  const bool of_file = &graph_ == &state_.file.graph;  // else the body of a function that is looked into
  HostValues values(graph_, !of_file                      ? TypeInference::kNone
                            : state_.file.library.empty() ? TypeInference::kIfListsNeedIt
                                                          : TypeInference::kAlways);
  const int cpu = state_.lists.find("CPU");
  const TypesId cpu_only = cpu < 0 ? kNoTypes : state_.lists.intern({{static_cast<uint16_t>(cpu), 0}});
  for (NodeId i = 0; i < graph_.num_nodes(); ++i) {
    const NodeId node = state_.in_order(i);
    if (!state_.facts(node).variant_input || broken(node)) continue;
    Member& root = groups_.at(groups_.root(node));
    const auto& types = state_.lists.at(root.types);
    if (types.size() == 1 && types[0].type == cpu) continue;
    if (!values.host_only(node)) continue;
    const TypesId limited = cpu_only == kNoTypes ? kNoTypes : state_.lists.intersect(root.types, cpu_only);
    if (limited == kNoTypes) continue;
    root.types = limited;
    root.host_only = true;
  }
}

// --- calls of functions that return resources ---

// Every edge around such a call leads to an Identity (isolate_calls.h), which takes what the body demands.
void GroupBuilder::apply_calls() {
  std::unordered_map<NodeId, std::vector<Endpoint>> readers;  // by call: reader and the slot it reads
  for (NodeId call : inspected_calls_) readers[call];
  for (NodeId i = 0; i < graph_.num_nodes(); ++i) {
    const NodeId node = state_.in_order(i);
    for (Endpoint e : graph_.inputs(node)) {
      if (auto call = readers.find(e.node); call != readers.end()) call->second.push_back({node, e.slot});
    }
  }
  // TensorFlow walks over a hash table, which mostly has the last call first.
  for (auto it = inspected_calls_.rbegin(); it != inspected_calls_.rend(); ++it) {
    const NodeId call = *it;
    if (broken(call)) continue;
    std::vector<std::string> lines;
    Result<BodyGroups> body = look_into_(state_, call, calls_, lines);
    if (body.ok()) {
      notes_.insert(notes_.end(), body->notes.begin(), body->notes.end());
      apply_call(call, *body, readers[call]);
    } else {
      failures_.body_failed(call, body.take_status(), lines);
    }
  }
}

void GroupBuilder::apply_call(NodeId call, const BodyGroups& body, const std::vector<Endpoint>& readers) {
  const auto inputs = graph_.inputs(call);
  const auto differ = [&](std::string_view which, size_t of_body, std::string_view ends, size_t of_call) {
    failures_.body_failed(
        call,
        internal_error(cat("Cannot apply input/output device constraints to node ",
                           node_debug_text(graph_, call, state_.requested_text(call), ""), " because ", which,
                           "_groups.size() (", of_body, ") is different from number of ", ends, " into the op node (",
                           of_call, ")")),
        {});
  };
  if (body.of_argument.size() != inputs.size())
    return differ("input", body.of_argument.size(), "inputs", inputs.size());
  if (body.of_result.size() != graph_.num_outputs(call))
    return differ("output", body.of_result.size(), "outputs", graph_.num_outputs(call));

  std::vector<std::vector<NodeId>> sources(body.demands.size()), neighbours(body.demands.size());
  for (size_t i = 0; i < inputs.size(); ++i) sources[body.of_argument[i]].push_back(inputs[i].node);
  neighbours = sources;
  for (const Endpoint& reader : readers) neighbours[body.of_result[reader.slot]].push_back(reader.node);
  for (size_t group = 0; group < neighbours.size(); ++group) {
    const std::vector<NodeId>& nodes = neighbours[group];
    for (size_t i = 1; i < nodes.size(); ++i) {
      if (i < sources[group].size()) {
        tie_sources(call, nodes.front(), nodes[i]);
      } else {
        tie_edge(nodes.front(), nodes[i], LinkKind::kResourceEdge);
      }
    }
  }
  for (size_t group = 0; group < neighbours.size(); ++group) {
    if (!neighbours[group].empty()) demand(call, neighbours[group].front(), body.demands[group]);
  }
}

// Two arguments of a call that its body has in one group: neither wins over the other.
void GroupBuilder::tie_sources(NodeId call, NodeId first, NodeId other) {
  if (broken(first) || broken(other)) return;
  MergeFailure failure;
  if (groups_.merge(first, other, soft_, {first, other, LinkKind::kResourceEdge}, failure)) return;
  failures_.body_failed(call, invalid_argument(failures_.colocation_text(first, other, failure)), {});
}

void GroupBuilder::demand(NodeId call, NodeId first, const BodyGroups::Demand& wanted) {
  if (broken(first)) return;
  Member& root = groups_.at(groups_.root(first));
  NameTable& names = state_.names;
  std::vector<SupportedType> types;
  for (const auto& [type, priority] : wanted.types) types.push_back({state_.lists.add(type), priority});
  const BodyDemand demand{first, call, names.intern(wanted.requested), state_.lists.intern(std::move(types))};
  const bool limits = state_.lists.at(demand.types).size() < state_.lists.types().size();
  if (demand.requested != kNoName || limits) state_.body_demands.push_back(demand);
  const Result<NameId> requested =
      names.merge(root.requested, demand.requested, soft_ ? MergeMode::kSoft : MergeMode::kStrict);
  const Result<NameId> resource = names.merge(root.resource, names.intern(wanted.resource), MergeMode::kStrict);
  for (const Result<NameId>* merged : {&requested, &resource}) {
    if (!merged->ok()) return failures_.body_failed(call, merged->status(), {});
  }
  root.requested = *requested;
  root.resource = *resource;
  root.types = state_.lists.intersect(root.types, demand.types);
}

// --- _class ---

// The group names that some node mentions, without representatives yet.
GroupBuilder::Representatives GroupBuilder::named_groups() {
  Representatives groups;
  for (const NodeType& type : graph_.types()) {
    const AttrValue* value = type.view().find(kClassAttr);
    const auto* list = value ? value->get_if<std::vector<std::string>>() : nullptr;
    if (!list) continue;
    for (const std::string& entry : *list) {
      if (entry.starts_with(kGroupPrefix)) groups.emplace(std::string_view(entry).substr(kGroupPrefix.size()), kNoNode);
    }
  }
  return groups;
}

void GroupBuilder::colocate() {
  Representatives groups = named_groups();
  std::vector<bool> names_group(graph_.num_nodes());  // by node: its name is a group's
  for (const auto& [name, none] : groups) {
    if (const NodeId node = graph_.find(name); node != kNoNode) names_group[node] = true;
  }

  std::vector<const AttrValue*> class_of_type;
  for (const NodeType& type : graph_.types()) class_of_type.push_back(type.view().find(kClassAttr));

  for (NodeId i = 0; i < graph_.num_nodes(); ++i) {
    const NodeId node = state_.in_order(i);
    if (const AttrValue* value = class_of_type[graph_.node(node).type]) {
      if (const auto* list = value->get_if<std::vector<std::string>>()) {
        for (const std::string& entry : *list) {
          if (!entry.starts_with(kGroupPrefix)) continue;
          const std::string_view group = std::string_view(entry).substr(kGroupPrefix.size());
          join_group(node, group, groups[group]);
        }
      } else if (const auto* text = value->get_if<std::string>(); text && !text->empty()) {
        notes_.emplace_back(kError, cat("The value for colocation attribute '_class' must be a list of strings, not a "
                                        "single string: ",
                                        node_debug_text(graph_, node, state_.requested_text(node), "")));
      }
    }
    if (names_group[node]) join_group(node, graph_.name(node), groups[graph_.name(node)]);
  }
}

void GroupBuilder::join_group(NodeId node, std::string_view group, NodeId& representative) {
  if (broken(node)) return;
  if (representative == kNoNode) {
    representative = node;
    return;
  }
  MergeFailure failure;
  if (groups_.merge(node, representative, soft_, {representative, node, LinkKind::kColocation}, failure)) return;
  if (!soft_) return failures_.cannot_colocate(node, representative, failure);
  if (!state_.options.log_device_placement) return;
  const std::string text = failures_.colocation_text(node, representative, failure);
  notes_.emplace_back(
      kInfo, cat("Ignoring request to colocate node '", graph_.name(node), "' with nodes in colocation group '", group,
                 "' because soft placement is on and an attempt at doing so resulted in the following "
                 "error: INVALID_ARGUMENT: ",
                 attach_node(text, graph_.name(node))));
}

// --- XLA ---

void GroupBuilder::exclude_xla_types() {
  const auto& types = state_.lists.types();
  if (std::none_of(types.begin(), types.end(), [](const std::string& t) { return is_xla_type(t); })) return;
  const auto asks_for_xla = [this](NameId id) {
    const DeviceName& name = state_.names.at(id);
    return name.type && is_xla_type(*name.type);
  };
  for (NodeId node = 0; node < graph_.num_nodes(); ++node) {
    Member& root = groups_.at(groups_.root(node));
    if (asks_for_xla(root.assigned) || asks_for_xla(root.resource) || asks_for_xla(root.requested)) continue;
    root.types = state_.lists.without_xla(root.types);
  }
}

}  // namespace emplace
