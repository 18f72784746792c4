/// Builds the groups: every node becomes a member, then edges, host-only values and _class attributes tie members
/// together, in the order of TensorFlow's ColocationGraph::Initialize.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/place/call_stack.h"
#include "core/place/place_errors.h"

namespace emplace {

using PlacementNotes = std::vector<std::pair<int, std::string>>;
enum NoteSeverity { kInfo = 0, kWarning = 1, kError = 2 };

class GroupBuilder {
 public:
  /// `look_into`: find_body_groups() (core/place/function_calls.h), which builds groups itself. `calls`: how the graph
  /// came to be called; empty for the file's own.
  GroupBuilder(PlacerState& state, std::vector<Decision>& decisions, PlaceFailures& failures, PlacementNotes& notes,
               BodyGroupsFinder look_into, CallStack calls = {})
      : state_(state),
        graph_(state.graph),
        groups_(state.groups),
        soft_(state.options.allow_soft_placement),
        decisions_(decisions),
        failures_(failures),
        notes_(notes),
        look_into_(look_into),
        calls_(std::move(calls)) {}

  /// Goes on after a failure, so that all offenders are found; look at `failures` afterwards.
  void build();

 private:
  // Members.
  void add_members();
  bool add_member(NodeId node);
  bool add_assigned_member(NodeId node, const std::string& device);
  bool assume_remote_kernel(NodeId node);

  // Reference and resource edges.
  void tie_edges();
  void tie_edge(NodeId source, NodeId consumer, LinkKind kind);
  bool ensure_compatible(NodeId source, NodeId consumer, LinkKind kind);
  LinkKind edge_kind(Endpoint source, NodeId consumer, size_t input);

  void limit_host_values();

  // Calls of functions that return resources.
  void apply_calls();
  void apply_call(NodeId call, const BodyGroups& body, const std::vector<Endpoint>& readers);
  void tie_sources(NodeId call, NodeId first, NodeId other);
  void demand(NodeId call, NodeId first, const BodyGroups::Demand& wanted);

  // _class.
  using Representatives = std::unordered_map<std::string_view, NodeId>;
  Representatives named_groups();
  void colocate();
  void join_group(NodeId node, std::string_view group, NodeId& representative);

  void exclude_xla_types();

  bool broken(NodeId node) { return groups_.at(groups_.root(node)).broken; }

  PlacerState& state_;
  const Graph& graph_;
  Groups& groups_;
  const bool soft_;
  std::vector<Decision>& decisions_;
  PlaceFailures& failures_;
  PlacementNotes& notes_;
  const BodyGroupsFinder look_into_;
  const CallStack calls_;
  std::vector<NodeId> inspected_calls_;
  bool any_variant_input_ = false;
  bool any_reference_input_ = false;
};

}  // namespace emplace
