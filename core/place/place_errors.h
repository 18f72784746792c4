/// Placement failures: TensorFlow's own texts (colocation_graph.cc, placer.cc), and our line for every offender.
#pragma once

#include <string>
#include <vector>

#include "core/place/placer_state.h"

namespace emplace {

/// The first failure decides the status; each adds its line to the table of offenders.
class PlaceFailures {
 public:
  PlaceFailures(PlacerState& state, const Placement& placement, std::vector<std::string>& lines)
      : state_(state), placement_(placement), lines_(lines) {}

  bool any() const { return count_ > 0; }
  /// Ends the table of offenders; what place() returns.
  Status finish();
  /// The placement as far as it was when the first failure came. REQUIRES: any().
  Placement placed_before() const;

  // Before groups are built.
  /// `call` names a function that the library lacks.
  void function_missing(NodeId call, std::string_view function);

  // While nodes become members. Attached to the node.
  void lookup_failed(NodeId node);
  void no_kernel(NodeId node);
  void malformed_request(NodeId node);
  void bad_assigned_device(NodeId node, const std::string& device, DeviceId found);

  // While groups merge.
  /// What a called function's body demands cannot be had; `lines`: its own offenders.
  void body_failed(NodeId call, Status why, const std::vector<std::string>& lines);
  /// Both groups' assigned (or resource) devices are fixed, and differ.
  void fixed_devices_differ(NodeId source, NodeId destination, LinkKind kind, bool assigned);
  void cannot_merge_edge(NodeId source, NodeId destination, LinkKind kind, const MergeFailure& failure);
  void cannot_colocate(NodeId node, NodeId representative, const MergeFailure& failure);
  /// TensorFlow's words for a _class merge that failed: error, or note under soft placement.
  std::string colocation_text(NodeId x, NodeId y, const MergeFailure& failure) const;

  // While nodes are assigned.
  void no_candidate(NodeId node);
  void cannot_pin(NodeId node, Status status);

  /// "\nColocation Debug Info:\n..." of the group of `node`.
  std::string debug_info(NodeId node) const;

 private:
  /// Texts are made only as far as they will be seen: thousands of nodes may fail, each in a large group.
  template <class MakeStatus, class MakeLine>
  void add(const MakeStatus& status, const MakeLine& line);
  std::string no_candidate_text(NodeId node) const;
  /// What eager execution says of a node that asks for a device which is not there (execute.cc).
  std::string eager_text(NodeId node) const;
  std::string no_candidate_line(NodeId node) const;
  std::string all_devices_text(bool sorted) const;
  /// "file:12:24: name (Op): ", with which every line begins; "name (Op, in function 'f', called by 'n'): ".
  std::string node_line(NodeId node) const;

  PlacerState& state_;
  const Placement& placement_;
  std::vector<std::string>& lines_;
  Status first_;
  NodeId first_without_device_ = kNoNode;  // in running order
  int64_t count_ = 0;
  size_t placed_before_ = 0, notes_before_ = 0;
};

}  // namespace emplace
