/// LoopGradient: the loop in which the gradients of one forward loop are computed, backwards, iteration by iteration
/// (python/ops/control_flow_state.py). The forward loop counts its iterations and keeps on stacks what is needed of each.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/graph/graph_editor.h"
#include "core/train/loops/forward_loops.h"

namespace emplace {

class LoopGradient;

/// Where a node runs: outside of all loops, in a forward loop, or in the loop of its gradients.
struct Place {
  FrameId forward = kRootFrame;
  CondId side = kNoCond;                  // in a forward loop
  const LoopGradient* gradient = nullptr;
};

/// Where names begin, and with whom nodes are colocated.
struct Site {
  std::string scope;
  std::vector<NodeId> colocate_with;
};

/// The graph in work: adds nodes and remembers where they run.
class LoopPlaces {
 public:
  LoopPlaces(GraphEditor& editor, ForwardLoops found) : edit(editor), loops(std::move(found)), num_forward_(editor.graph().num_nodes()) {}

  GraphEditor& edit;
  const ForwardLoops loops;

  Endpoint add(NewNode node, const Place& place);
  /// Named below the site's scope, colocated as it says.
  Endpoint add(const Site& site, std::string_view name, std::string_view op, std::vector<Endpoint> inputs, const Place& place,
               std::vector<std::pair<std::string, AttrValue>> attrs = {}, std::vector<NodeId> controls = {});
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

/// What a loop variable of the gradients' loop begins with, and what each iteration makes of it.
struct LoopSum {
  Endpoint initial;
  std::string_view op, name;  // of the node that computes it from the value so far, `step` and `last`
  Endpoint step, last{};      // kNoNode: the op has no third input
};

class LoopGradient {
 public:
  /// Adds the counters. `outer`: the gradient of the loop around; null: there is none.
  LoopGradient(LoopPlaces& places, FrameId forward, LoopGradient* outer, const Site& site);
  LoopGradient(const LoopGradient&) = delete;

  FrameId forward() const { return forward_; }
  LoopGradient* outer() const { return outer_; }
  Endpoint condition() const { return condition_; }
  Place place() const { return {kRootFrame, kNoCond, this}; }

  /// Adds a node to the loop. Inputs from elsewhere are brought in; what only tells shapes of a forward tensor is added there.
  Endpoint add(NewNode node);
  /// A tensor as the loop sees it: of a forward iteration, the one of the same iteration; of outside, a loop invariant.
  Endpoint bring(Endpoint tensor, const Site& site);
  /// A tensor of the forward loop, kept on a stack. `guard`: the handle goes to the side of a conditional where the tensor is, too.
  Endpoint from_stack(Endpoint tensor, const Site& site, bool guard = true);
  /// A variable of the loop: from outside, the value in the next iteration, to outside.
  Endpoint enter(const Site& site, std::string_view name, Endpoint initial);
  void close(const Site& site, Endpoint merge, Endpoint next);
  Endpoint exit(const Site& site, std::string_view name, Endpoint last);
  /// A whole variable; its value at the end, outside.
  Endpoint accumulate(const Site& site, const LoopSum& sum);

 private:
  Place forward_place(CondId side = kNoCond) const { return {forward_, side, nullptr}; }
  void count_forward(const Site& site);
  void count_backward(const Site& site);
  Endpoint invariant(Endpoint tensor, const Site& site);
  Endpoint of_iteration(Endpoint tensor, const Site& site);
  bool is_constant_enter(NodeId node) const;
  NodeId constant_enter(Endpoint tensor) const;
  // Stacks (loop_stack.cpp).
  NodeId add_push(Endpoint stack, Endpoint tensor, bool guard, const Site& site);
  Endpoint into_forward(Endpoint stack, FrameId frame, const Site& site);
  Endpoint guarded(Endpoint stack, CondId side, const Site& site);
  NodeId trigger(const Site& site);

  LoopPlaces& places_;
  const FrameId forward_;
  LoopGradient* const outer_;
  const ForwardLoop& loop_;
  const std::string frame_name_;
  // Of the forward loop's counter: its value at the end; nodes in the loop.
  Endpoint forward_count_;
  NodeId body_start_ = kNoNode, forward_add_ = kNoNode, forward_next_ = kNoNode, forward_trigger_ = kNoNode;
  // Of this loop's.
  Endpoint condition_, index_;
  NodeId next_index_ = kNoNode, trigger_ = kNoNode;
  std::map<std::pair<NodeId, uint32_t>, Endpoint> brought_;
};

/// The attrs of an Enter.
std::vector<std::pair<std::string, AttrValue>> enter_attrs(const std::string& frame_name, bool is_constant, int64_t parallel_iterations);

}  // namespace emplace
