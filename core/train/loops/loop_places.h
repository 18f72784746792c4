/// LoopPlaces: adds the nodes of a gradient's loops to the graph, and remembers in which loop each runs and which nodes
/// are there only to keep the operations of a stack in order.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph_editor.h"
#include "core/train/loops/forward_loops.h"

namespace emplace {

class LoopGradient;

/// Where a node runs: outside of all loops, in a forward loop, or in the loop of its gradients.
struct Place {
  FrameId forward = kRootFrame;
  CondId side = kNoCond;  // in a forward loop
  const LoopGradient* gradient = nullptr;
};

/// Where names begin, and with whom nodes are colocated.
struct Site {
  std::string scope;
  std::vector<NodeId> colocate_with;
};

/// A Switch of `data` like those of the conditional; `pred`: its condition, as it is where the node goes.
NewNode switch_of(const CondSide& side, std::string name, Endpoint data, Endpoint pred,
                  std::vector<NodeId> colocate_with);

/// The graph in work: adds nodes and remembers where they run.
class LoopPlaces {
 public:
  LoopPlaces(GraphEditor& editor, ForwardLoops found)
      : edit(editor), loops(std::move(found)), num_forward_(editor.graph().num_nodes()) {}

  GraphEditor& edit;
  const ForwardLoops loops;

  Endpoint add(NewNode node, const Place& place);
  /// Named below the site's scope, colocated as it says.
  Endpoint add(const Site& site, std::string_view name, std::string_view op, std::vector<Endpoint> inputs,
               const Place& place, std::vector<std::pair<std::string, AttrValue>> attrs = {},
               std::vector<NodeId> controls = {});
  /// Of the output.
  Place of(Endpoint tensor) const;
  /// What cannot be done; the first is kept.
  void fail(Status status);
  Status take_status() { return std::move(status_); }
  bool ok() const { return status_.ok(); }

  /// `push` keeps what `pop` needs, and other nodes only wait for the two: whose values nobody needs may go.
  void add_stack(NodeId push, NodeId pop);
  bool only_orders(NodeId node) const { return orders_.contains(node); }
  NodeId push_of(NodeId pop) const;
  /// A trigger that the next iteration waits for; without anything that it waits for, it may go.
  void add_trigger(NodeId trigger);
  const std::vector<NodeId>& triggers() const { return triggers_; }

 private:
  std::map<NodeId, NodeId> push_of_;
  std::set<NodeId> orders_;
  std::vector<NodeId> triggers_;
  const NodeId num_forward_;
  std::map<NodeId, Place> places_;  // of what was added inside of loops
  Status status_;
};

}  // namespace emplace
