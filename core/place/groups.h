/// Groups: nodes that must be on one device, as TensorFlow's union-find of members (member.cc / colocation_graph.cc):
/// what each group asks for, which device types it can use, and how it came about.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/graph.h"
#include "core/place/device_types.h"
#include "core/place/name_table.h"

namespace emplace {

/// How two nodes came into one group.
enum class LinkKind : uint8_t { kNone, kReferenceEdge, kResourceEdge, kColocation };

/// A merge that made one group of two: the links of a group are a tree over its nodes.
struct Link {
  NodeId a;  // source of the edge; or the group's representative
  NodeId b;  // destination; or the node that asks to be colocated
  LinkKind kind;
};

/// One node, and, at a root, its group. Names satisfy: requested specializes assigned and resource.
struct Member {
  NodeId parent;
  NameId assigned = kNoName;
  NameId resource = kNoName;
  NameId requested = kNoName;
  TypesId types = kNoTypes;
  NameId asked = kNoName;       // root: `requested` before the group was pinned
  NodeId first = kNoNode;       // root: the member that was placed first and pinned the group
  DeviceId pinned = kNoDevice;  // root: the device of that member
  uint8_t rank = 0;
  LinkKind link : 2 = LinkKind::kNone;  // node: the first merge it took part in
  uint8_t relaxed : 2 = 0;              // root: 1: type and id of the request were dropped, 2: resources moved too
  bool host_only : 1 = false;           // root: limited to the CPU because its values live in host memory
  bool broken : 1 = false;              // root: an error was reported; not placed
};

/// Why two groups could not become one.
struct MergeFailure {
  bool no_common_type = false;
  Status names;  // TensorFlow's words, if not no_common_type
};

class Groups {
 public:
  Groups(uint32_t num_nodes, NameTable& names, TypeLists& types);

  NodeId root(NodeId node) {
    NodeId r = node;
    while (members_[r].parent != r) r = members_[r].parent = members_[members_[r].parent].parent;
    return r;
  }
  /// Without path compression: for readers of a finished placement.
  NodeId root(NodeId node) const {
    while (members_[node].parent != node) node = members_[node].parent;
    return node;
  }
  Member& at(NodeId node) { return members_[node]; }
  const Member& at(NodeId node) const { return members_[node]; }
  bool alone(NodeId node) const { return members_[node].link == LinkKind::kNone; }

  /// One group of the groups of x and y (nodes). True if they are one now. Under soft placement (`soft`), types and
  /// ids that conflict in requests are dropped.
  bool merge(NodeId x, NodeId y, bool soft, const Link& link, MergeFailure& failure);

  /// Merges in the order in which they were made.
  const std::vector<Link>& links() const { return links_; }

 private:
  Status merge_names(Member& root, const Member& other, bool soft);

  std::vector<Member> members_;
  std::vector<Link> links_;
  NameTable& names_;
  TypeLists& types_;
};

}  // namespace emplace
