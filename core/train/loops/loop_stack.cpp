// Part of core/train/loops/loop_gradient.h: LoopGradient: stacks. What a forward iteration computed is pushed there and
// popped when its gradients are computed; where it is on one side of a conditional, only in the iterations that took
// it.
#include "core/base/cat.h"
#include "core/train/loops/loop_gradient.h"

namespace emplace {
namespace {

// A read is where its variable is. Where the reader of the value is asked to be elsewhere (a tower's, its parameters on
// another device), TensorFlow's stack, which belongs to both, has no place.
bool belongs_elsewhere(const Graph& g, NodeId value, const std::vector<NodeId>& readers) {
  if (!g.traits(value).reads_variable || readers.empty()) return false;
  while (g.node(value).num_inputs > 0) value = g.inputs(value)[0].node;
  const std::string_view variable = g.requested_device(value), reader = g.requested_device(readers.front());
  return !variable.empty() && !reader.empty() && variable != reader;
}

}  // namespace

Endpoint LoopGradient::from_stack(Endpoint tensor, const Site& site, bool guard) {
  const DType type = base_type(places_.edit.type(tensor));
  const CondId side = places_.of(tensor).side;
  Site of_stack = site;
  if (!belongs_elsewhere(places_.edit.graph(), tensor.node, site.colocate_with))
    of_stack.colocate_with.push_back(tensor.node);
  Endpoint size = places_.edit.constant(cat(site.scope, "/Const"), Tensor::scalar<int32_t>(-1), of_stack.colocate_with);
  Endpoint stack = places_.add(of_stack, "f_acc", "StackV2", {size}, Place{}, {{"elem_type", AttrValue::of(type)}});
  const NodeId push = add_push(stack, tensor, guard, site);
  Endpoint handle = stack;
  if (side != kNoCond) {
    const CondSide& condition = places_.loops.side(side);
    Endpoint pred = bring(condition.pred, site);
    handle = add(switch_of(condition, cat(site.scope, "/Switch"), stack, pred, {stack.node}));
    handle.slot = condition.branch;
  }
  Endpoint popped = add({.name = cat(site.scope, "/StackPopV2"),
                         .op = "StackPopV2",
                         .inputs = {handle},
                         .attrs = {{"elem_type", AttrValue::of(type)}},
                         .colocate_with = site.colocate_with});
  places_.add_stack(push, popped.node);
  if (loop_.parallel_iterations > 1) places_.edit.add_control(trigger(site), popped.node);
  return popped;
}

// An iteration pushes after the counter went on, and the next begins after that.
NodeId LoopGradient::add_push(Endpoint stack, Endpoint tensor, bool guard, const Site& site) {
  GraphEditor& edit = places_.edit;
  const CondId side = places_.of(tensor).side;
  Endpoint handle = into_forward(stack, forward_, site);
  NewNode push{.name = edit.names().unique(cat(site.scope, "/StackPushV2")),
               .op = "StackPushV2",
               .controls = {forward_add_},
               .colocate_with = site.colocate_with,
               .has_own_name = true};
  push.inputs = {guarded(handle, guard ? side : places_.loops.side(side).outer, {push.name, site.colocate_with}),
                 tensor};
  const NodeId id = places_.add(std::move(push), forward_place(side)).node;
  if (side == kNoCond) {
    edit.add_control(forward_next_, id);
    return id;
  }
  if (forward_trigger_ == kNoNode) {
    forward_trigger_ = places_.add(site, "f_sync", "ControlTrigger", {}, forward_place()).node;
    places_.add_trigger(forward_trigger_);
    edit.add_control(forward_next_, forward_trigger_);
  }
  edit.add_control(forward_trigger_, id);
  return id;
}

NodeId LoopGradient::trigger(const Site& site) {
  if (trigger_ == kNoNode) {
    trigger_ = places_.add(site, "b_sync", "ControlTrigger", {}, place()).node;
    places_.add_trigger(trigger_);
    places_.edit.add_control(next_index_, trigger_);
  }
  return trigger_;
}

Endpoint LoopGradient::into_forward(Endpoint stack, FrameId frame, const Site& site) {
  const ForwardLoop& loop = places_.loops.loop(frame);
  if (loop.outer != kRootFrame) stack = into_forward(stack, loop.outer, site);
  return places_.add(site, "Enter", "Enter", {stack}, {frame, kNoCond, nullptr},
                     enter_attrs(loop.frame_name, true, loop.parallel_iterations));
}

Endpoint LoopGradient::guarded(Endpoint stack, CondId side, const Site& site) {
  if (side == kNoCond) return stack;
  const CondSide condition = places_.loops.side(side);
  stack = guarded(stack, condition.outer, site);
  const Endpoint guard = places_.add(
      switch_of(condition, cat(site.scope, "/Switch"), stack, condition.pred, site.colocate_with), forward_place(side));
  return {guard.node, condition.branch};
}

}  // namespace emplace
