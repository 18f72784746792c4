#include "core/place/groups.h"

#include <utility>

namespace emplace {

Groups::Groups(uint32_t num_nodes, NameTable& names, TypeLists& types)
    : members_(num_nodes), names_(names), types_(types) {
  for (NodeId id = 0; id < num_nodes; ++id) members_[id].parent = id;
}

Status Groups::merge_names(Member& root, const Member& other, bool soft) {
  ASSIGN_OR_RETURN(const NameId assigned, names_.merge(root.assigned, other.assigned, MergeMode::kStrict));
  ASSIGN_OR_RETURN(const NameId resource, names_.merge(root.resource, other.resource, MergeMode::kStrict));
  ASSIGN_OR_RETURN(const NameId requested,
                   names_.merge(root.requested, other.requested, soft ? MergeMode::kSoft : MergeMode::kStrict));
  root.assigned = assigned;
  root.resource = resource;
  root.requested = names_.specify(names_.specify(requested, assigned), resource);
  return ok_status();
}

bool Groups::merge(NodeId x, NodeId y, bool soft, const Link& link, MergeFailure& failure) {
  NodeId top = root(x), below = root(y);
  if (top == below) return true;
  if (members_[top].rank < members_[below].rank) std::swap(top, below);
  Member& winner = members_[top];
  Member& loser = members_[below];

  failure.names = merge_names(winner, loser, soft);
  if (!failure.names.ok()) return false;
  // From here on a failure leaves the merged names behind, as it does in TensorFlow.
  const TypesId common = types_.intersect(winner.types, loser.types);
  if (common == kNoTypes) {
    failure.no_common_type = true;
    return false;
  }
  winner.types = common;
  winner.host_only |= loser.host_only;
  if (winner.rank == loser.rank) ++winner.rank;
  loser.parent = top;

  links_.push_back(link);
  for (NodeId node : {link.a, link.b}) {
    if (members_[node].link == LinkKind::kNone) members_[node].link = link.kind;
  }
  return true;
}

}  // namespace emplace
