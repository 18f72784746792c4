/// What is said about one node, before it becomes text or JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
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
  std::vector<GroupMember> group;  // empty: alone; the member that was placed first comes first
  std::vector<const Copy*> copies;
  struct ChangeFor {
    std::string device;  // what was wanted
    ChangeSearch search;
  };
  std::vector<ChangeFor> changes;
};

/// Everything that `explain` looks at. References outlive the explanation.
struct ExplainInput {
  const GraphFile& file;
  const DeviceSet& devices;
  const PlaceOptions& options;
  const Placement& placement;
  const CopyPlan& copies;
  const AutoReport* automatic = nullptr;  // null: TensorFlow's rule
  const PlaceByCost& by_cost;             // of --auto, for what would change; empty: TensorFlow's rule
};

/// What a node takes by itself; null: no --auto, or nobody knows.
const CostEstimate* cost_on(const ExplainInput& in, NodeId node, DeviceId device);
/// What --auto expects a copy to take, all of its way; nothing: no --auto, or it is none of those foreseen.
std::optional<double> copy_us(const ExplainInput& in, const Copy& copy);

/// `on`: the device to look for changes to; nothing: some devices other than the node's.
NodeExplanation explain_node(const ExplainInput& in, NodeId node, const std::optional<DeviceName>& on);

/// The link that ties a node to its group, and what it asks for or lacks; empty for a lone node.
std::string why_in_group(const Graph& graph, const Placement& placement, NodeId node);

}  // namespace emplace
