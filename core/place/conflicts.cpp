#include "core/place/conflicts.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "core/base/cat.h"
#include "core/place/kernel_text.h"

namespace emplace {
namespace {

// What one node demands of a device.
struct Demand {
  NodeId node;
  NameId name;   // requested or assigned
  TypesId types;
  bool fixed;    // assigned
  NodeId call = kNoNode;  // whose function demands it
};

using Neighbours = std::unordered_map<NodeId, std::vector<Link>>;

// The links of the tree over one group, by node.
Neighbours neighbours_in(const Groups& groups, NodeId root) {
  Neighbours out;
  for (const Link& l : groups.links()) {
    if (groups.root(l.a) != root) continue;
    out[l.a].push_back(l);
    out[l.b].push_back(l);
  }
  return out;
}

NodeId other_end(const Link& l, NodeId node) { return l.a == node ? l.b : l.a; }

// Soft placement drops type and id of a request, though not of a device given beforehand.
bool is_met(const PlacerState& state, const Demand& demand, const DeviceName& device) {
  DeviceName name = state.names.at(demand.name);
  if (state.options.allow_soft_placement && !demand.fixed) {
    name.type.reset();
    name.id.reset();
  }
  return name.matches(device);
}

bool fits(const PlacerState& state, const std::vector<Demand>& demands, DeviceId device) {
  return std::all_of(demands.begin(), demands.end(), [&](const Demand& d) {
    return is_met(state, d, state.devices.at(device).parsed) && state.lists.has(d.types, state.lists.type_of(device));
  });
}

bool satisfiable(const PlacerState& state, const std::vector<Demand>& demands) {
  for (DeviceId d = 0; d < state.devices.size(); ++d) {
    if (fits(state, demands, d)) return true;
  }
  return false;
}

// The device that was given to the node beforehand; null if none was.
const std::string* assigned_device(const PlacerState& state, NodeId node) {
  const auto& assigned = state.options.assigned;
  const auto it = std::lower_bound(assigned.begin(), assigned.end(), node,
                                   [](const auto& entry, NodeId id) { return entry.first < id; });
  return it == assigned.end() || it->first != node ? nullptr : &it->second;
}

// One demand of each kind, by the group's first node that has it.
void collect_demands(const PlacerState& state, NodeId root, std::vector<Demand>& demands) {
  std::set<std::tuple<NameId, TypesId, bool>> seen;
  for (NodeId n = 0; n < state.graph.num_nodes(); ++n) {
    if (state.groups.root(n) != root) continue;
    const bool fixed = assigned_device(state, n) != nullptr;
    const Demand d{n, fixed ? state.groups.at(n).assigned : state.requested_name(n), state.facts(n).types, fixed};
    if (seen.emplace(d.name, d.types, fixed).second) demands.push_back(d);
  }
  for (const BodyDemand& d : state.body_demands) {
    if (state.groups.root(d.node) == root) demands.push_back({d.node, d.requested, d.types, false, d.call});
  }
}

std::string wishes(const PlacerState& state, std::string_view asks, TypesId types) {
  std::string out(asks);
  if (state.lists.at(types).size() < state.lists.types().size()) {
    append(out, out.empty() ? "has " : " and has ", types == kNoTypes ? "no kernel" : "kernels for ",
           types == kNoTypes ? std::string{} : types_text(state.lists, types) + " only");
  }
  return out;
}

// Leaves out whatever is not needed for the contradiction.
void minimize(const PlacerState& state, std::vector<Demand>& demands) {
  for (size_t i = demands.size(); i-- > 0;) {
    std::vector<Demand> fewer = demands;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (!satisfiable(state, fewer)) demands = std::move(fewer);
  }
}

}  // namespace

std::vector<Link> link_path(const Groups& groups, NodeId from, NodeId to) {
  if (from == to) return {};
  Neighbours links = neighbours_in(groups, groups.root(from));
  std::unordered_map<NodeId, Link> came_by{{from, {}}};
  std::vector<NodeId> ready{from};
  for (size_t i = 0; i < ready.size() && !came_by.contains(to); ++i) {
    for (const Link& l : links[ready[i]]) {
      const NodeId next = other_end(l, ready[i]);
      if (came_by.emplace(next, l).second) ready.push_back(next);
    }
  }
  std::vector<Link> path;
  if (!came_by.contains(to)) return path;
  for (NodeId at = to; at != from; at = other_end(path.back(), at)) path.push_back(came_by.at(at));
  std::reverse(path.begin(), path.end());
  return path;
}

std::string link_text(const Graph& graph, const Link& link) {
  const std::string_view a = graph.name(link.a), b = graph.name(link.b);
  switch (link.kind) {
    case LinkKind::kReferenceEdge: return cat("a reference edge ties '", b, "' to '", a, '\'');
    case LinkKind::kResourceEdge: return cat("a resource edge ties '", b, "' to '", a, '\'');
    case LinkKind::kColocation: return cat("'", b, "' and '", a, "' are in one colocation group (_class)");
    case LinkKind::kNone: break;
  }
  return {};
}

std::string demands_text(const PlacerState& state, NodeId node) {
  const TypesId types = state.facts(node).types;
  if (const std::string* device = assigned_device(state, node)) return wishes(state, cat("was placed on ", *device, " beforehand"), types);
  const std::string_view request = state.requested_text(node);
  return wishes(state, request.empty() ? std::string{} : cat("asks for ", request), types);
}

std::string demands_text(const PlacerState& state, const BodyDemand& demand) {
  const std::string asks = demand.requested == kNoName ? std::string{} : cat("asks for ", state.names.text(demand.requested));
  return cat("the function that '", state.graph.name(demand.call), "' calls ", wishes(state, asks, demand.types));
}

std::string conflict_text(const PlacerState& state, NodeId node, const Link& link) {
  std::vector<Demand> demands;
  const NodeId root = state.groups.root(node);
  collect_demands(state, root, demands);
  NodeId other = kNoNode;
  if (link.kind != LinkKind::kNone) {
    other = state.groups.root(link.a) == root ? link.b : link.a;
    if (state.groups.root(other) != root) collect_demands(state, state.groups.root(other), demands);
  }
  if (satisfiable(state, demands)) return {};
  minimize(state, demands);

  std::string out;
  std::vector<Link> shown;
  const auto show = [&](const Link& l) {
    const auto same = [&l](const Link& k) { return k.a == l.a && k.b == l.b && k.kind == l.kind; };
    if (std::none_of(shown.begin(), shown.end(), same)) shown.push_back(l);
  };
  const NodeId near = link.kind == LinkKind::kNone ? kNoNode : other_end(link, other);
  for (const Demand& d : demands) {
    append(out, "\n    '", state.graph.name(d.node), "' (", state.graph.op(d.node), ") ",
           d.call == kNoNode ? demands_text(state, d.node)
                             : cat("stands beside a call: ", demands_text(state, BodyDemand{d.node, d.call, d.name, d.types})));
    const NodeId first = demands.front().node;
    if (state.groups.root(d.node) == state.groups.root(first)) {
      for (const Link& l : link_path(state.groups, first, d.node)) show(l);
      continue;
    }
    // The two are in groups that `link` was to join.
    const bool first_is_near = state.groups.root(first) == state.groups.root(near);
    for (const Link& l : link_path(state.groups, first, first_is_near ? near : other)) show(l);
    show(link);
    for (const Link& l : link_path(state.groups, first_is_near ? other : near, d.node)) show(l);
  }
  for (const Link& l : shown) append(out, "\n    ", link_text(state.graph, l));
  return out;
}

}  // namespace emplace
