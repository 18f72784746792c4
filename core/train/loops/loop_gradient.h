/// LoopGradient: the loop in which the gradients of one forward loop are computed, backwards, iteration by iteration
/// (python/ops/control_flow_state.py). The forward loop counts its iterations and keeps on stacks what is needed of
/// each.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/train/loops/loop_places.h"

namespace emplace {

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

  /// Adds a node to the loop. Inputs from elsewhere are brought in; what only tells shapes of a forward tensor is added
  /// there.
  Endpoint add(NewNode node);
  /// A tensor as the loop sees it: of a forward iteration, the one of the same iteration; of outside, a loop invariant.
  Endpoint bring(Endpoint tensor, const Site& site);
  /// A tensor of the forward loop, kept on a stack. `guard`: the handle goes to the side of a conditional where the
  /// tensor is, too.
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
std::vector<std::pair<std::string, AttrValue>> enter_attrs(const std::string& frame_name, bool is_constant,
                                                           int64_t parallel_iterations);

}  // namespace emplace
