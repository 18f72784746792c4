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

void add_group(const ExplainInput& in, size_t members, NodeExplanation& e) {
  const GroupTrees::Group* group = trees_of(*in.placement.state).group_of(e.node);
  if (!group) return;
  e.group_size = group->members.size();
  for (size_t i = 0; i < std::min(members, e.group_size); ++i) {
    const NodeId n = group->members[i];
    e.group.push_back({n, why_in_group(in.file.graph, in.placement, n)});
  }
}

}  // namespace

CopiesByNode::CopiesByNode(const CopyPlan& copies, const AutoReport* automatic) {
  const auto add = [this](NodeId node, const Copy& c) {
    std::vector<const Copy*>& own = by_node_[node];
    if (own.empty() || own.back() != &c) own.push_back(&c);
  };
  for (const Copy& c : copies.copies) {
    add(c.tensor.node, c);
    for (const NodeId reader : c.readers) add(reader, c);
  }
  if (!automatic) return;
  for (const AutoReport::Row& row : automatic->schedule) {
    if (row.copy) rows_[row.what].push_back(&row);
  }
}

std::span<const Copy* const> CopiesByNode::of(NodeId node) const {
  const auto at = by_node_.find(node);
  return at == by_node_.end() ? std::span<const Copy* const>() : at->second;
}

std::span<const AutoReport::Row* const> CopiesByNode::rows(const std::string& tensor) const {
  const auto at = rows_.find(tensor);
  return at == rows_.end() ? std::span<const AutoReport::Row* const>() : at->second;
}

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
  for (const AutoReport::Row* row : in.by_node.rows(tensor)) {
    // One by the host's memory is two rows.
    if (row->device == from || row->to == to) us = us.value_or(0) + row->end_us - row->start_us;
  }
  return us;
}

NodeExplanation explain_node(const ExplainInput& in, NodeId node, const std::optional<DeviceName>& on, size_t members) {
  NodeExplanation e;
  e.node = node;
  e.reason = reason_text(in.placement, node);
  e.candidates = candidates_of(in.placement, node);
  add_group(in, members, e);
  e.copies = in.by_node.of(node);

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
