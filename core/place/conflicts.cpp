#include "core/place/conflicts.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "core/base/cat.h"
#include "core/place/kernel_text.h"

namespace emplace {
namespace {

// What one node demands of a device.
struct Demand {
  NodeId node;
  NameId name;  // requested or assigned
  TypesId types;
  bool fixed;                     // assigned
  NodeId call = kNoNode;          // whose function demands it
  std::vector<NodeId> same = {};  // others that demand the same
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
  std::map<std::tuple<NameId, TypesId, bool>, size_t> known;
  for (NodeId n = 0; n < state.graph.num_nodes(); ++n) {
    if (state.groups.root(n) != root) continue;
    const bool fixed = assigned_device(state, n) != nullptr;
    const Demand d{n, fixed ? state.groups.at(n).assigned : state.requested_name(n), state.facts(n).types, fixed};
    auto [it, is_new] = known.try_emplace({d.name, d.types, fixed}, demands.size());
    if (is_new) {
      demands.push_back(d);
    } else {
      demands[it->second].same.push_back(n);
    }
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

// " (so do 'a', 'b' and 3 more)": who demands the same.
std::string others_text(const PlacerState& state, const std::vector<NodeId>& others) {
  constexpr size_t kNamed = 3;
  if (others.empty()) return {};
  std::string out = others.size() == 1 ? " (so does" : " (so do";
  const size_t named = std::min(kNamed, others.size());
  for (size_t i = 0; i < named; ++i) {
    append(out, i == 0 ? "" : i + 1 == others.size() ? " and" : ",", " '", state.graph.name(others[i]), '\'');
  }
  if (others.size() > named) append(out, " and ", others.size() - named, " more");
  return out + ')';
}

// The nodes that exclude each other, one a line, and the links between them. They may be in two groups, which `link`
// was to join.
std::string text_of(const PlacerState& state, const std::vector<Demand>& demands, const Link& link) {
  std::string out;
  std::vector<Link> shown;
  const auto show = [&](const std::vector<Link>& links) {
    for (const Link& l : links) {
      const auto same = [&l](const Link& k) { return k.a == l.a && k.b == l.b && k.kind == l.kind; };
      if (std::none_of(shown.begin(), shown.end(), same)) shown.push_back(l);
    }
  };
  const NodeId first = demands.front().node;
  const auto together = [&](NodeId a, NodeId b) { return state.groups.root(a) == state.groups.root(b); };
  for (const Demand& d : demands) {
    append(out, "\n    '", state.graph.name(d.node), "' (", state.graph.op(d.node), ") ",
           d.call == kNoNode
               ? d.name == kNoName ? wishes(state, {}, d.types) : demands_text(state, d.node)
               : cat("stands beside a call: ", demands_text(state, BodyDemand{d.node, d.call, d.name, d.types})),
           d.name == kNoName ? std::string{} : others_text(state, d.same));
    if (together(d.node, first)) {
      show(link_path(state.groups, first, d.node));
      continue;
    }
    const NodeId near = together(first, link.a) ? link.a : link.b;
    show(link_path(state.groups, first, near));
    show({link});
    show(link_path(state.groups, other_end(link, near), d.node));
  }
  for (const Link& l : shown) append(out, "\n    ", link_text(state.graph, l));
  return out;
}

// As if the nodes of `fewest` asked for nothing. False if none of them asks.
bool drop_requests(std::vector<Demand>& demands, const std::vector<Demand>& fewest) {
  bool any = false;
  for (Demand& d : demands) {
    const auto shown = [&d](const Demand& f) { return f.node == d.node && f.call == d.call; };
    if (d.fixed || d.call != kNoNode || d.name == kNoName || std::none_of(fewest.begin(), fewest.end(), shown))
      continue;
    d.name = kNoName;
    any = true;
  }
  return any;
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
    case LinkKind::kReferenceEdge:
      return cat("a reference edge ties '", b, "' to '", a, '\'');
    case LinkKind::kResourceEdge:
      return cat("a resource edge ties '", b, "' to '", a, '\'');
    case LinkKind::kColocation:
      return cat("'", b, "' and '", a, "' are in one colocation group (_class)");
    case LinkKind::kNone:
      break;
  }
  return {};
}

std::string demands_text(const PlacerState& state, NodeId node) {
  const TypesId types = state.facts(node).types;
  if (const std::string* device = assigned_device(state, node))
    return wishes(state, cat("was placed on ", *device, " beforehand"), types);
  const std::string_view request = state.requested_text(node);
  return wishes(state, request.empty() ? std::string{} : cat("asks for ", request), types);
}

std::string demands_text(const PlacerState& state, const BodyDemand& demand) {
  const std::string asks =
      demand.requested == kNoName ? std::string{} : cat("asks for ", state.names.text(demand.requested));
  return cat("the function that '", state.graph.name(demand.call), "' calls ", wishes(state, asks, demand.types));
}

std::string conflict_text(const PlacerState& state, NodeId node, const Link& link) {
  std::vector<Demand> demands;
  const NodeId root = state.groups.root(node);
  collect_demands(state, root, demands);
  if (link.kind != LinkKind::kNone) {
    const NodeId other = state.groups.root(link.a) == root ? link.b : link.a;
    if (state.groups.root(other) != root) collect_demands(state, state.groups.root(other), demands);
  }
  constexpr int kMostConflicts = 8;
  std::string out;
  for (int i = 0; i < kMostConflicts && !satisfiable(state, demands); ++i) {
    std::vector<Demand> fewest = demands;
    minimize(state, fewest);
    append(out, i ? "\n    and once that is changed:" : "", text_of(state, fewest, link));
    if (!drop_requests(demands, fewest)) break;
  }
  return out;
}

}  // namespace emplace
