/// What one placement knows beside its decisions: the groups, the kernels found, the names. Filled by place(), then
/// read by the explanations.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/place/candidates.h"
#include "core/place/groups.h"
#include "core/place/kernel_lookup.h"
#include "core/place/placement.h"

namespace emplace {

/// What the placer looks at in a node's type, found out once per type.
struct TypeFacts {
  TypesId types = kNoTypes;
  bool known : 1 = false;
  bool lookup_failed : 1 = false;
  bool attr_mismatch : 1 = false;
  bool reference_input : 1 = false;  // an input of reference or resource type that ties the node to its source
  bool variant_input : 1 = false;
  bool generator : 1 = false;     // no data input, one output, not of reference type
  bool handle_maker : 1 = false;  // no data input, one output of reference or resource type
  bool metadata : 1 = false;
  bool identity : 1 = false;
  bool dataset : 1 = false;
  bool inspected_call : 1 = false;  // a call of a function that returns a resource
};

class GroupTrees;

/// What the body of a called function demands of a group.
struct BodyDemand {
  NodeId node;  // of the group: an Identity beside the call
  NodeId call;
  NameId requested;
  TypesId types;
};

struct PlacerState {
  PlacerState(const GraphFile& f, const DeviceSet& d, const PlaceOptions& o, std::span<const NodeId> ids = {})
      : PlacerState(f, f.graph, d, o, ids) {}
  /// `graph`: the file's, or the body of a function of its library. `order`: see place_in_order().
  PlacerState(const GraphFile& file, const Graph& graph, const DeviceSet& devices, const PlaceOptions& options,
              std::span<const NodeId> order = {});
  ~PlacerState();

  const TypeFacts& facts(NodeId node) {
    TypeFacts& f = facts_[graph.node(node).type];
    if (!f.known) find_facts(graph.type(node), f);
    return f;
  }
  /// REQUIRES: facts() was called for a node of the type.
  const TypeFacts& facts(NodeId node) const { return facts_[graph.node(node).type]; }

  /// The node whose id TensorFlow has as its i-th.
  NodeId in_order(NodeId i) const { return order_.empty() ? i : order_[i]; }
  std::span<const NodeId> order() const { return order_; }
  /// Has `a` a smaller id there than `b`?
  bool is_before(NodeId a, NodeId b) const { return ranks_.empty() ? a < b : ranks_[a] < ranks_[b]; }

  std::string_view requested_text(NodeId node) const { return requested_device(graph, options, node); }
  /// The parsed request; nothing if it is malformed.
  std::optional<NameId> requested_name(NodeId node);
  /// Likewise, once place() has read it; kNoName if it is malformed.
  NameId requested_name(NodeId node) const;

  /// Notes that a node was placed on `device` beforehand.
  void use_device(DeviceId device);

  /// How many devices match a name, found out once per name.
  size_t num_matching(NameId name);

  /// The request comes from the command line.
  bool is_override(NodeId node) const;

  const GraphFile& file;
  const Graph& graph;
  const DeviceSet& devices;
  const PlaceOptions options;
  NameTable names;
  TypeLists lists;
  KernelLookup kernels;
  Groups groups;
  CandidateFinder candidates;
  std::vector<NameId> device_names;      // by device
  std::vector<DeviceId> devices_in_use;  // of nodes placed beforehand, in their order
  std::vector<BodyDemand> body_demands;
  std::unordered_map<NodeId, std::string> cost_texts;  // by group: why it is where costs put it (by_cost.h)

 private:
  void find_facts(const NodeType& type, TypeFacts& facts);

  std::vector<TypeFacts> facts_;       // by type
  std::vector<NodeId> order_;          // empty: that of the ids
  std::vector<NodeId> ranks_;          // by node: place in order_
  std::vector<NameId> request_names_;  // by text id
  std::unordered_map<NodeId, NameId> override_names_;
  std::unordered_map<NameId, size_t> matching_;  // devices, by request
  std::vector<bool> in_use_;                     // by device
  friend const GroupTrees& trees_of(const PlacerState& state);
  mutable std::mutex trees_lock_;
  mutable std::shared_ptr<const GroupTrees> trees_;
};

}  // namespace emplace
