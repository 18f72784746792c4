/// LoopGradients: what loops add to reverse mode (python/ops/control_flow_state.py, control_flow_grad.py): gradients of
/// Enter, Exit, Switch, Merge and NextIteration inside of loops, and the order in which a loop's ends are visited.
///
/// Where this differs from TensorFlow:
///  - it needs what a Python program knows; here the loops are found in the graph itself, so a graph that was read from
///  a
///    file has gradients too;
///  - slices of a loop variable (not of an invariant) are made dense before they enter the gradients' loop;
///  - the shape of slices that are summed up is asked of the variable, not carried through the loop;
///  - no stack is left whose values nobody needs;
///  - the shape of a loop variable is what it enters with, as far as the body keeps it; shape_invariants of
///  while_loop(), which may
///    say less, do not stand in a GraphDef.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/train/gradient_node.h"
#include "core/train/loops/loop_gradient.h"

namespace emplace {

class LoopGradients {
 public:
  /// REQUIRES: called before any node of the gradients is added.
  LoopGradients(GraphEditor& edit, ForwardLoops loops, bool colocate)
      : places_(edit, std::move(loops)), colocate_(colocate) {}

  /// Adds the loop of an Exit on the way from the loss, if it is new. What else has to be visited: the loop's other
  /// Exits. InvalidArgument: not a loop whose gradient can be built.
  Result<std::vector<NodeId>> add_loop(NodeId exit, const std::string& scope);
  /// The Exits that get nothing from the loss, of loops where no other Exit does: ready from the start.
  std::vector<NodeId> unused_exits(const std::function<bool(NodeId)>& has_readers, NodeId loss);
  /// An Exit all of whose readers were visited: what is ready now, once all Exits of its loop are. The last of them, in
  /// the order of TensorFlow.
  std::vector<NodeId> exit_is_ready(NodeId exit, const std::function<bool(NodeId)>& has_gradient);

  /// The loop in which what arrives at a node is summed up (`before`), or in which its gradient is computed; null:
  /// none.
  LoopGradient* loop_of(NodeId node, bool before) const;
  bool is_loop_switch(NodeId node) const { return loop_of(node, false) && places_.loops.is_loop_switch(node); }
  /// Is a node inside of a loop (an Exit is not)?
  bool is_inside(NodeId node) const { return places_.loops.of_output(node) != kRootFrame; }
  const std::string& frame_name(NodeId node) const { return places_.loops.loop(places_.loops.of(node)).frame_name; }

  /// Zeros for output `slot` of a node in a loop, which got no gradient. No value: it needs none.
  Value zeros(NodeGradient& node, NodeId id, uint32_t slot, std::span<const PartialGradient> arrived);
  /// Zeros for the Exit of a loop variable that the loss does not depend on.
  Value zeros_for_exit(NodeId exit, const std::string& scope);
  /// Sets the gradients of a control flow op inside of a loop. False: `node` is no such op.
  Result<bool> differentiate(NodeGradient& node, NodeId id);
  /// Brings the results of another op's gradient function into the node's loop, if they are not there.
  Status bring_in(NodeGradient& node);
  /// After the last node: loop variables whose value does not depend on that of the iteration before.
  void finish();

  LoopPlaces& places() { return places_; }

 private:
  struct State {
    std::unique_ptr<LoopGradient> gradient;
    std::vector<NodeId> unused, deferred;  // Exits
    size_t pending = 0;                    // Exits still to come
    std::map<NodeId, Endpoint> merges;     // by forward Switch: the Merge of its gradient
  };
  State* state_of(FrameId frame) const;
  static Site site(const NodeGradient& node);
  Value zeros_beside(NodeGradient& node, NodeId id, uint32_t slot, std::span<const PartialGradient> arrived);
  Value zeros_of(NodeGradient& node, Value like, std::string_view name);
  void of_exit(NodeGradient& node);
  void of_loop_switch(NodeGradient& node, NodeId id);
  void of_loop_merge(NodeGradient& node, NodeId id);
  bool of_side_merge(NodeGradient& node, NodeId id);
  void of_enter(NodeGradient& node, NodeId id);
  void sum_slices(NodeGradient& node);

  LoopPlaces places_;
  const bool colocate_;
  std::vector<std::unique_ptr<State>> states_;  // in the order in which they were added
};

}  // namespace emplace
