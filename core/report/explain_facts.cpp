#include "core/report/explain_facts.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/device/device_text.h"
#include "core/place/conflicts.h"
#include "core/place/group_tree.h"
#include "core/place/placer_state.h"

namespace emplace {
namespace {

// Each change is found by placing the graph again, perhaps several times.
constexpr size_t kOtherDevices = 3;

std::vector<NodeExplanation::GroupMember> group_of(const ExplainInput& in, NodeId node) {
  const PlacerState& state = *in.placement.state;
  const GroupTrees::Group* group = trees_of(state).group_of(node);
  std::vector<NodeExplanation::GroupMember> members;
  if (!group) return members;
  for (NodeId n : group->members) members.push_back({n, why_in_group(in.file.graph, in.placement, n)});
  return members;
}

std::vector<const Copy*> copies_of(const ExplainInput& in, NodeId node) {
  std::vector<const Copy*> copies;
  for (const Copy& c : in.copies.copies) {
    const bool reads = std::find(c.readers.begin(), c.readers.end(), node) != c.readers.end();
    if (reads || c.tensor.node == node) copies.push_back(&c);
  }
  return copies;
}

}  // namespace

std::string why_in_group(const Graph& graph, const Placement& placement, NodeId node) {
  const PlacerState& state = *placement.state;
  if (!trees_of(state).group_of(node)) return {};
  const Link* link = trees_of(state).link_of(node);
  std::string why = link ? link_text(graph, *link) : "placed first: its device is the group's";
  if (const std::string demands = demands_text(state, node); !demands.empty()) append(why, "; ", demands);
  return why;
}

const CostEstimate* cost_on(const ExplainInput& in, NodeId node, DeviceId device) {
  // Functions that were lowered since make another graph of it.
  if (!in.automatic || in.automatic->node_costs.size() != in.file.graph.num_nodes() * in.devices.size()) return nullptr;
  const std::optional<CostEstimate>& cost = in.automatic->node_costs[node * in.devices.size() + device];
  return cost ? &*cost : nullptr;
}

std::optional<double> copy_us(const ExplainInput& in, const Copy& copy) {
  if (!in.automatic || copy.control) return {};
  const std::string tensor = cat(in.file.graph.name(copy.tensor.node), ':', copy.tensor.slot);
  const std::string &from = in.devices.at(copy.from).name, &to = in.devices.at(copy.to).name;
  std::optional<double> us;
  for (const AutoReport::Row& row : in.automatic->schedule) {
    // One by the host's memory is two rows.
    if (row.copy && row.what == tensor && (row.device == from || row.to == to))
      us = us.value_or(0) + row.end_us - row.start_us;
  }
  return us;
}

NodeExplanation explain_node(const ExplainInput& in, NodeId node, const std::optional<DeviceName>& on) {
  NodeExplanation e;
  e.node = node;
  e.reason = reason_text(in.placement, node);
  e.candidates = candidates_of(in.placement, node);
  e.group = group_of(in, node);
  e.copies = copies_of(in, node);

  std::vector<std::pair<std::string, DeviceName>> wanted;
  if (on) {
    wanted.emplace_back(on->to_string(), *on);
  } else {
    for (DeviceId d = 0; d < in.devices.size() && wanted.size() < kOtherDevices; ++d) {
      if (d != in.placement.device(node))
        wanted.emplace_back(short_device_name(in.devices, d), in.devices.at(d).parsed);
    }
  }
  for (auto& [text, name] : wanted) {
    e.changes.push_back({text, find_change(in.file, in.devices, in.options, in.placement, node, name, in.by_cost)});
  }
  return e;
}

}  // namespace emplace
