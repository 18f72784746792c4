#include "core/place/group_tree.h"

#include <mutex>

namespace emplace {
namespace {

bool asks_for(const PlacerState& state, NodeId node, DeviceId device) {
  const NameId name = state.requested_name(node);
  return name != kNoName && state.names.at(name).matches(state.devices.at(device).parsed);
}

}  // namespace

GroupTrees::GroupTrees(const PlacerState& state) : all_(state.groups) {
  for (const Link& l : all_.links()) {
    neighbours_[l.a].push_back(&l);
    neighbours_[l.b].push_back(&l);
  }
  for (const Link& l : all_.links()) {
    const NodeId root = all_.root(l.a);
    auto [it, is_new] = groups_.try_emplace(root);
    if (is_new) grow(state, all_.at(root).first, it->second);
  }
}

void GroupTrees::grow(const PlacerState& state, NodeId first, Group& group) {
  const DeviceId device = all_.at(all_.root(first)).pinned;
  group.without_kernel.assign(state.lists.types().size(), kNoNode);
  group.members.push_back(first);
  link_[first] = nullptr;
  for (size_t i = 0; i < group.members.size(); ++i) {
    const NodeId node = group.members[i];
    if (group.asks == kNoNode && asks_for(state, node, device)) group.asks = node;
    uint16_t type = 0;
    for (NodeId& without : group.without_kernel) {
      const bool has_kernel = state.lists.has(state.facts(node).types, type++);
      if (!has_kernel && without == kNoNode) without = node;
    }
    for (const Link* l : neighbours_[node]) {
      const NodeId next = l->a == node ? l->b : l->a;
      if (link_.emplace(next, l).second) group.members.push_back(next);
    }
  }
}

const GroupTrees& trees_of(const PlacerState& state) {
  const std::lock_guard lock(state.trees_lock_);  // an exception, of memory, does not come through std::call_once
  if (!state.trees_) state.trees_ = std::make_shared<const GroupTrees>(state);
  return *state.trees_;
}

const Link* GroupTrees::link_of(NodeId node) const {
  const auto it = link_.find(node);
  return it == link_.end() ? nullptr : it->second;
}

const GroupTrees::Group* GroupTrees::group_of(NodeId node) const {
  const auto it = groups_.find(all_.root(node));
  return it == groups_.end() ? nullptr : &it->second;
}

}  // namespace emplace
