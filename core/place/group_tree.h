/// The groups of a finished placement as trees that lead to the member which was placed first: who pulls whom.
#pragma once

#include <unordered_map>
#include <vector>

#include "core/place/placer_state.h"

namespace emplace {

/// Linear to build, then constant per question.
class GroupTrees {
 public:
  explicit GroupTrees(const PlacerState& state);

  /// The link by which `node` hangs on the member that was placed first; null for that member and for a lone node.
  const Link* link_of(NodeId node) const;

  struct Group {
    NodeId asks = kNoNode;               // a member whose own request names the group's device
    std::vector<NodeId> without_kernel;  // by device type: a member that has no kernel there, or kNoNode
    std::vector<NodeId> members;         // in the order in which the tree reaches them
  };
  /// Null for a lone node.
  const Group* group_of(NodeId node) const;

 private:
  void grow(const PlacerState& state, NodeId first, Group& group);

  std::unordered_map<NodeId, std::vector<const Link*>> neighbours_;
  std::unordered_map<NodeId, const Link*> link_;
  std::unordered_map<NodeId, Group> groups_;  // by root
  const Groups& all_;
};

/// Made when first asked for; any thread. REQUIRES: the placement is finished.
const GroupTrees& trees_of(const PlacerState& state);

}  // namespace emplace
