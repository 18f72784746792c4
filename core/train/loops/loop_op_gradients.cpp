// Part of core/train/loops/loop_gradients.h: LoopGradients: gradients of the ops of control flow inside of loops
// (control_flow_grad.py), and zeros.
#include <algorithm>
#include <set>

#include "core/base/cat.h"
#include "core/tensor/tensor.h"
#include "core/train/loops/list_zeros.h"
#include "core/train/loops/loop_gradients.h"

namespace emplace {
namespace {

constexpr int64_t kLargeZeros = 1000;  // TensorFlow makes a constant of zeros below this size, a Fill from it on

Value value_of(Endpoint e) { return {e.node, e.slot}; }
Endpoint endpoint_of(Value v) { return {v.node, v.slot}; }

bool is_handle(const NodeGradient& node, Value v) { return node.type(v) == DType::kResource; }

// The tensor that a handle refers to.
Value read(NodeGradient& node, Value handle, DType type) {
  return node.add("ReadVariableOp", {handle}, {{"dtype", AttrValue::of(type)}}, {});
}

Value zeros_of_shape(NodeGradient& node, DType type, const Shape& shape, const std::string& name) {
  const int64_t count = shape.checked_num_elements().value_or(kLargeZeros);
  if (count < kLargeZeros) {
    Tensor zeros = allocated(type, shape);
    std::fill_n(static_cast<std::byte*>(zeros.raw()), zeros.size_bytes(), std::byte{0});
    return node.constant(std::move(zeros), name);
  }
  Value dims = node.ints({shape.dims().begin(), shape.dims().end()}, cat(name, "/shape_as_tensor"));
  return node.add("Fill", {dims, node.scalar(type, 0, cat(name, "/Const"))}, {}, name);
}

Value filled_zeros(NodeGradient& node, Value shape, DType type) {
  return node.add("Fill", {shape, node.scalar(type, 0, "zeros/Const")}, {}, "zeros");
}

}  // namespace

// In the loop, or outside of it, wherever `node` adds.
Value LoopGradients::zeros_of(NodeGradient& node, Value like, std::string_view name) {
  if (node.type(like) == DType::kVariant) return zeros_of_list(node, like);
  if (node.shape(like).fully_known()) return zeros_of_shape(node, node.type(like), node.shape(like), std::string(name));
  Value shape = node.add("Shape", {like}, {}, {});
  if (node.loop()) shape = value_of(node.loop()->bring(endpoint_of(shape), site(node)));
  return filled_zeros(node, shape, node.type(like));
}

Value LoopGradients::zeros_for_exit(NodeId exit, const std::string& scope) {
  NodeGradient node(places_.edit, exit, false);
  node.set_scope(scope);
  node.set_loop(loop_of(exit, true));
  const bool list = node.type({exit, 0}) == DType::kVariant;
  if (node.loop() || (!list && node.shape({exit, 0}).fully_known())) return zeros_of(node, {exit, 0}, "zeros");
  return node.add("ZerosLike", {{exit, 0}}, {}, "zeros_like");
}

Value LoopGradients::zeros(NodeGradient& node, NodeId id, uint32_t slot, std::span<const PartialGradient> arrived) {
  if (places_.loops.is_loop_switch(id)) return {};
  return places_.edit.graph().traits(id).control == Control::kSwitch ? zeros_beside(node, id, slot, arrived)
                                                                     : zeros_of(node, {id, slot}, "Const");
}

// The side of a conditional from which no gradient comes: zeros in the iterations that took it.
Value LoopGradients::zeros_beside(NodeGradient& node, NodeId id, uint32_t slot,
                                  std::span<const PartialGradient> arrived) {
  const Endpoint input = places_.edit.graph().inputs(id)[0], pred = places_.edit.graph().inputs(id)[1];
  const CondSide& side = places_.loops.side(places_.loops.side_of({id, slot}));
  const bool handle = is_handle(node, value_of(input));
  const auto other = std::find_if(arrived.begin(), arrived.end(), [](const auto& g) { return g.valid(); });
  if (handle && other == arrived.end()) return {};
  const Value like = handle ? read(node, value_of(input), node.type(other->values)) : value_of(input);
  if (handle || node.type(like) == DType::kVariant || node.shape(like).fully_known()) {
    const Shape& shape = node.shape(like);
    Value zeros = handle && shape.fully_known()
                      ? filled_zeros(node, node.ints({shape.dims().begin(), shape.dims().end()}), node.type(like))
                      : zeros_of(node, like, "Const");
    const NewNode at = switch_of(side, {}, endpoint_of(zeros), pred, {});
    return node.add(at.op, {zeros, value_of(pred)}, at.attrs, "Switch").output(slot);
  }
  // What the other side would have had, in the iterations that took it; only its shape is kept.
  const Place there{places_.loops.of(id), places_.loops.side_of({id, slot}), nullptr};
  const Site here = site(node);
  const Endpoint untaken{
      places_.add(switch_of(side, cat(here.scope, "/Switch"), input, pred, here.colocate_with), there).node, slot};
  const Endpoint shape = places_.add(site(node), "Shape", "Shape", {untaken}, there);
  return filled_zeros(node, value_of(node.loop()->from_stack(shape, site(node), false)), node.type(like));
}

Result<bool> LoopGradients::differentiate(NodeGradient& node, NodeId id) {
  bool known = true;
  switch (places_.edit.graph().traits(id).control) {
    case Control::kExit:
      of_exit(node);
      break;
    case Control::kEnter:
      of_enter(node, id);
      break;
    case Control::kNextIteration:
      node.pass_on(0, 0);
      break;
    case Control::kSwitch:
      if (places_.loops.is_loop_switch(id)) {
        of_loop_switch(node, id);
      } else {
        std::vector<Value> sides;
        const auto outputs = static_cast<int>(node.graph().num_outputs(id));
        sides.reserve(static_cast<size_t>(outputs));
        for (int i = 0; i < outputs; ++i) sides.push_back(node.grad(i));
        node.set(0, node.add("Merge", sides, {}, "cond_grad"));
      }
      break;
    case Control::kMerge:
      if (places_.loops.is_loop_merge(id)) {
        of_loop_merge(node, id);
      } else {
        known = of_side_merge(node, id);
      }
      break;
    default:
      known = false;
  }
  RETURN_IF_ERROR(places_.take_status());
  return known;
}

Status LoopGradients::bring_in(NodeGradient& node) {
  const Site here{node.scope(), {}};
  for (PartialGradient& result : node.results()) {
    if (!result.valid()) continue;
    result.values = value_of(node.loop()->bring(endpoint_of(result.values), here));
    if (result.is_slices()) result.indices = value_of(node.loop()->bring(endpoint_of(result.indices), here));
  }
  return places_.take_status();
}

void LoopGradients::of_exit(NodeGradient& node) {
  LoopGradient* inside = node.loop();
  node.set_loop(inside->outer());
  Value gradient = node.grad(0);
  node.set_loop(inside);
  node.set(0, value_of(inside->enter(site(node), "b_exit", endpoint_of(gradient))));
}

// Visited twice: from the Exit, and from the body of the iteration before.
void LoopGradients::of_loop_switch(NodeGradient& node, NodeId id) {
  State& state = *state_of(places_.loops.of(id));
  auto merge = state.merges.find(id);
  if (merge == state.merges.end()) {
    Value first = node.grad(0);
    node.set(0, node.add("Merge", {first, first}, {}, "b_switch"));
    state.merges[id] = endpoint_of(node.results()[0].values);
  } else if (node.arrived(1).valid()) {
    state.gradient->close(site(node), merge->second, endpoint_of(node.grad(1)));
  }
}

// To the Enter after the last iteration, else to the NextIteration. Colocated with what arrives, and with nothing else.
void LoopGradients::of_loop_merge(NodeGradient& node, NodeId id) {
  const Graph& g = places_.edit.graph();
  const Endpoint arrived = endpoint_of(node.grad(0));
  Endpoint at = node.loop()->add({.name = cat(node.scope(), "/Switch"),
                                  .op = "Switch",
                                  .inputs = {arrived, node.loop()->condition()},
                                  .colocate_with = {arrived.node}});
  auto inputs = g.inputs(id);
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    const bool next = g.traits(inputs[i].node).control == Control::kNextIteration;
    node.set(static_cast<int>(i), {at.node, next ? 1U : 0U});
  }
}

// False if the inputs are not the sides of one conditional, one from each.
bool LoopGradients::of_side_merge(NodeGradient& node, NodeId id) {
  auto inputs = places_.edit.graph().inputs(id);
  const CondSide& first = places_.loops.side(places_.loops.side_of(inputs[0]));
  std::set<uint32_t> branches;
  for (const Endpoint& e : inputs) {
    const CondId id_of = places_.loops.side_of(e);
    const CondSide& side = places_.loops.side(id_of);
    if (id_of == kNoCond || side.outer != first.outer || !(side.pred == first.pred)) return false;
    branches.insert(side.branch);
  }
  const size_t wanted = first.numbered == 0 ? 2 : first.numbered;
  if (inputs.size() != wanted || branches.size() != wanted) return false;
  const Endpoint arrived = endpoint_of(node.grad(0));
  const Endpoint pred = node.loop()->bring(first.pred, site(node));
  const Endpoint at =
      node.loop()->add(switch_of(first, cat(node.scope(), "/cond_grad"), arrived, pred, {arrived.node}));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const CondSide& side = places_.loops.side(places_.loops.side_of(places_.edit.graph().inputs(id)[i]));
    node.set(static_cast<int>(i), {at.node, side.branch});
  }
  return true;
}

void LoopGradients::of_enter(NodeGradient& node, NodeId id) {
  LoopGradient* inside = node.loop();
  const Site here = site(node);
  if (!places_.edit.graph().attrs(id).flag("is_constant")) {
    node.set(0, value_of(inside->exit(here, "Exit", endpoint_of(node.grad(0)))));
    return;
  }
  if (node.arrived(0).is_slices()) return sum_slices(node);
  const Value step = node.grad(0);
  node.set_loop(inside->outer());
  const bool list = node.type(step) == DType::kVariant;
  Value zero;
  if (!list && node.shape(step).fully_known()) {
    zero = zeros_of_shape(node, node.type(step), node.shape(step), "b_acc");
  } else {
    Value input = node.input(0);
    zero = zeros_of(node, is_handle(node, input) ? read(node, input, node.type(step)) : input, "b_acc");
  }
  node.set_loop(inside);
  node.set(
      0, value_of(inside->accumulate(
             here,
             {.initial = endpoint_of(zero), .op = list ? "AddN" : "AddV2", .name = "Add", .step = endpoint_of(step)})));
}

// Of an invariant that iterations take rows of: all their slices, one behind the other, begun with a row of zeros.
void LoopGradients::sum_slices(NodeGradient& node) {
  LoopGradient* inside = node.loop();
  const Site here = site(node);
  const PartialGradient step = node.arrived(0);
  const DType type = node.type(step.values), index_type = node.type(step.indices);
  node.set_loop(inside->outer());
  Value whole = node.input(0);
  if (is_handle(node, whole)) whole = read(node, whole, type);
  Value shape = node.shape_of(whole);
  Value row_shape = node.concat({node.ints({1}, "concat/values_0"), node.slice(shape, 1)});
  Value row = node.add("Fill", {row_shape, node.scalar(type, 0, "zeros/Const")}, {}, "zeros");
  Value first = node.ints({0}, "Const", index_type);
  node.set_loop(inside);
  auto join = [&](Value initial, Value next) {
    const Value axis = node.index(0, "concat/axis");
    return value_of(inside->accumulate(here, {.initial = endpoint_of(initial),
                                              .op = "ConcatV2",
                                              .name = "concat",
                                              .step = endpoint_of(next),
                                              .last = endpoint_of(axis)}));
  };
  Value indices = join(first, step.indices);
  node.set_slices(0, join(row, step.values), indices, shape);
}

// TensorFlow's Python has left its name scope by now.
void LoopGradients::finish() {
  GraphEditor& edit = places_.edit;
  for (const auto& state : states_) {
    for (const auto& [id, merge] : state->merges) {
      auto inputs = edit.graph().inputs(merge.node);
      if (!(inputs[0] == inputs[1])) continue;
      NodeGradient node(edit, merge.node, false);
      Value zeros;
      if (node.type(value_of(merge)) == DType::kVariant || node.shape(value_of(merge)).fully_known()) {
        node.set_loop(state->gradient.get());
        zeros = zeros_of(node, value_of(merge), "Const");
      } else {
        node.set_loop(state->gradient->outer());
        zeros = zeros_of(node, value_of(edit.graph().inputs(inputs[0].node)[0]), "zeros");
        node.set_loop(state->gradient.get());
      }
      const Value next = node.add("NextIteration", {zeros}, {}, {});
      if (next.valid()) edit.set_input(merge.node, 1, endpoint_of(next));
    }
  }
}

}  // namespace emplace
