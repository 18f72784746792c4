// LoopGradients: which loops there are, and when their Exits are visited. Gradients of their ops:
// loop_op_gradients.cpp.
#include "core/train/loops/loop_gradients.h"

#include <algorithm>

#include "core/base/cat.h"

namespace emplace {

LoopGradients::State* LoopGradients::state_of(FrameId frame) const {
  auto found =
      std::find_if(states_.begin(), states_.end(), [&](const auto& s) { return s->gradient->forward() == frame; });
  return found == states_.end() ? nullptr : found->get();
}

LoopGradient* LoopGradients::loop_of(NodeId node, bool before) const {
  const FrameId frame = before ? places_.loops.of_output(node) : places_.loops.of(node);
  State* state = frame == kRootFrame ? nullptr : state_of(frame);
  return state ? state->gradient.get() : nullptr;
}

Site LoopGradients::site(const NodeGradient& node) {
  return {node.scope(), node.colocates() ? std::vector<NodeId>{node.id()} : std::vector<NodeId>{}};
}

Result<std::vector<NodeId>> LoopGradients::add_loop(NodeId exit, const std::string& scope) {
  const FrameId frame = places_.loops.of(exit);
  if (state_of(frame)) return std::vector<NodeId>{};
  RETURN_IF_ERROR(places_.loops.check(frame));
  const ForwardLoop& loop = places_.loops.loop(frame);
  State* outer = loop.outer == kRootFrame ? nullptr : state_of(loop.outer);
  if (loop.outer != kRootFrame && !outer)
    return invalid_argument(cat("loop '", loop.frame_name, "' is inside of a loop that has no gradient"));
  auto state = std::make_unique<State>();
  const Site at_exit{scope, colocate_ ? std::vector<NodeId>{exit} : std::vector<NodeId>{}};
  state->gradient = std::make_unique<LoopGradient>(places_, frame, outer ? outer->gradient.get() : nullptr, at_exit);
  state->pending = loop.exits.size();
  states_.push_back(std::move(state));
  RETURN_IF_ERROR(places_.take_status());
  return loop.exits;
}

std::vector<NodeId> LoopGradients::unused_exits(const std::function<bool(NodeId)>& has_readers, NodeId loss) {
  std::vector<NodeId> ready;
  for (const auto& state : states_) {
    for (NodeId exit : places_.loops.loop(state->gradient->forward()).exits) {
      if (has_readers(exit)) continue;
      --state->pending;
      if (exit != loss) state->unused.push_back(exit);
      if (state->pending == 0) ready.insert(ready.end(), state->unused.begin(), state->unused.end());
    }
  }
  return ready;
}

std::vector<NodeId> LoopGradients::exit_is_ready(NodeId exit, const std::function<bool(NodeId)>& has_gradient) {
  State& state = *state_of(places_.loops.of(exit));
  state.deferred.push_back(exit);
  std::vector<NodeId> ready;
  if (--state.pending > 0) return ready;
  for (NodeId y : state.deferred) (has_gradient(y) ? ready : state.unused).push_back(y);
  ready.insert(ready.end(), state.unused.begin(), state.unused.end());
  return ready;
}

}  // namespace emplace
