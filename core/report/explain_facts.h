/// What is said about one node, before it becomes text or JSON.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/partition/copies.h"
#include "core/place/changes.h"
#include "core/place/placement.h"
#include "core/report/auto_report.h"

namespace emplace {

struct NodeExplanation {
  NodeId node = kNoNode;
  std::string reason;
  std::string origin;  // what lowering made it of; empty: the file has it
  std::string in_run;  // why the run leaves it out; empty: it does not, or nobody knows before it
  std::vector<Candidate> candidates;
  struct GroupMember {
    NodeId node;
    std::string why;  // the link that ties it, and what it asks for or lacks
  };
  size_t group_size = 0;           // 0: alone
  std::vector<GroupMember> group;  // the member that was placed first comes first; as many as are shown
  std::span<const Copy* const> copies;
  struct ChangeFor {
    std::string device;  // what was wanted
    ChangeSearch search;
  };
  std::vector<ChangeFor> changes;
};

/// The copies of a placement by the nodes that they are about: linear to make, then quick for each node.
class CopiesByNode {
 public:
  /// `automatic`: what --auto expects; null: TensorFlow's rule. Both outlive this.
  CopiesByNode(const CopyPlan& copies, const AutoReport* automatic);

  /// Those of tensors that `node` makes or reads, in the plan's order.
  std::span<const Copy* const> of(NodeId node) const;
  /// The rows of the schedule that are copies of a tensor, "x:0".
  std::span<const AutoReport::Row* const> rows(const std::string& tensor) const;

 private:
  std::unordered_map<NodeId, std::vector<const Copy*>> by_node_;
  std::unordered_map<std::string_view, std::vector<const AutoReport::Row*>> rows_;
};

/// Everything that `explain` looks at. References outlive the explanation.
struct ExplainInput {
  const GraphFile& file;
  const DeviceSet& devices;
  const PlaceOptions& options;
  const Placement& placement;
  const CopyPlan& copies;
  const CopiesByNode& by_node;
  const AutoReport* automatic = nullptr;  // null: TensorFlow's rule
  const PlaceByCost& by_cost;             // of --auto, for what would change; empty: TensorFlow's rule
};

/// What a node takes by itself; null: no --auto, or nobody knows.
const CostEstimate* cost_on(const ExplainInput& in, NodeId node, DeviceId device);
/// What --auto expects a copy to take, all of its way; nothing: no --auto, or it is none of those foreseen.
std::optional<double> copy_us(const ExplainInput& in, const Copy& copy);

/// `on`: the device to look for changes to; nothing: some devices other than the node's. `members`: how many of its
/// group are to be shown, each with its text.
NodeExplanation explain_node(const ExplainInput& in, NodeId node, const std::optional<DeviceName>& on, size_t members);

/// The link that ties a node to its group, and what it asks for or lacks; empty for a lone node.
std::string why_in_group(const Graph& graph, const Placement& placement, NodeId node);

}  // namespace emplace
