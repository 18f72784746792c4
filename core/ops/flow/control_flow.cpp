// Switch, Merge and the loop ops of TensorFlow's dataflow control. Which node runs, and in which frame, is the
// executor's business; these only pass tensors on.
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

void pass_handle(ShapeContext& c, int output) {
  if (const HandleInfo* handle = c.input_handle(0)) c.set_output_handle(output, *handle);
}

Status switch_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(1, 0).take_status());
  for (int i = 0; i < 2; ++i) {
    c.set_output(i, c.input(0));
    pass_handle(c, i);
  }
  return ok_status();
}

// What all inputs agree on.
Status merge_shape(ShapeContext& c) {
  Shape out = c.input(0);
  for (int i = 1; i < c.num_inputs() && out.rank_known(); ++i) {
    const Shape& in = c.input(i);
    if (!in.rank_known() || in.rank() != out.rank()) {
      out = Shape::unknown();
      break;
    }
    for (int d = 0; d < out.rank(); ++d) {
      if (in.dim(d) != out.dim(d)) out.dim(d) = -1;
    }
  }
  c.set_output(0, out);
  c.set_output(1, Shape{});
  return ok_status();
}

Status enter_shape(ShapeContext& c) {
  bool constant = c.attrs().flag("is_constant");
  c.set_output(0, constant ? c.input(0) : Shape::unknown());
  if (constant) pass_handle(c, 0);
  return ok_status();
}

Status loop_cond_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape scalar, c.with_rank(0, 0));
  c.set_output(0, scalar);
  return ok_status();
}

Status switch_cpu(KernelContext& c) {
  const Tensor& pred = c.input(1);
  if (pred.num_elements() != 1) {
    return invalid_argument("The second input must be a scalar, but it has shape " + pred.shape().to_string());
  }
  int live = *pred.data<bool>() ? 1 : 0;
  c.forward_output(live, c.input(0));
  c.mark_dead(1 - live);
  return ok_status();
}

Status switch_n_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(1, 0).take_status());
  for (int i = 0; i < c.num_outputs(); ++i) {
    c.set_output(i, c.input(0));
    pass_handle(c, i);
  }
  return ok_status();
}

Status switch_n_cpu(KernelContext& c) {
  if (c.input(1).num_elements() != 1) {
    return invalid_argument("The second input must be a scalar, but it has shape " + c.input(1).shape().to_string());
  }
  const int last = c.num_outputs() - 1;
  const int64_t index = int_at(c.input(1), 0);
  const int live = index < 0 || index > last ? last : static_cast<int>(index);
  const Tensor data = c.input(0);
  for (int i = 0; i <= last; ++i) i == live ? c.forward_output(i, data) : c.mark_dead(i);
  return ok_status();
}

Status merge_cpu(KernelContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.input(i).valid()) continue;
    c.forward_output(0, c.input(i));
    RETURN_IF_ERROR(ensure_output(c, 1, Shape{}));
    *c.out<int32_t>(1) = i;
    return ok_status();
  }
  c.mark_dead(0);
  c.mark_dead(1);
  return ok_status();
}

// Outside of loops (for those in loops: core/train/loops/), as TensorFlow differentiates a graph that was read from a
// file: which side was taken is asked of pred and value_index. A variable's handle that only one side reads has no
// gradient from the other.
Status switch_gradient(GradientContext& g) {
  Value sides[] = {g.grad(0), g.grad(1)};
  for (uint32_t side = 0; side < 2; ++side) {
    Value& gradient = sides[side];
    const Value other = sides[1 - side];
    if (!gradient.valid() && other.valid()) {
      const bool handle = g.type(g.input(0)) == DType::kResource;
      gradient = g.zeros_like(handle ? g.add("ReadVariableOp", {g.input(0)}, {{"dtype", AttrValue::of(g.type(other))}})
                                     : g.input(0));
    }
    gradient = g.add("Switch", {gradient, g.input(1)}).output(side);
  }
  g.set(0, g.add("Merge", {sides[0], sides[1]}));
  return g.status();
}

Status merge_gradient(GradientContext& g) {
  for (int i = 0; i < g.num_inputs(); ++i) {
    Value taken = g.add("Equal", {g.output(1), g.index(i, "Equal/y")});
    g.set(i, g.add("Switch", {g.grad(0), taken}).output(1));
  }
  return g.status();
}

// As Switch: the side that was taken is asked of the index; no gradient comes from the others.
Status switch_n_gradient(GradientContext& g) {
  const auto outputs = static_cast<uint32_t>(g.attrs().integer("num_outs"));
  const AttrValue count = AttrValue::of(static_cast<int64_t>(outputs));
  std::vector<Value> sides;
  for (uint32_t i = 0; i < outputs; ++i) {
    Value gradient = g.grad(static_cast<int>(i));
    if (!gradient.valid() && g.type(g.input(0)) == DType::kVariant) gradient = g.zeros_like(g.input(0));
    if (!gradient.valid()) return g.status();
    sides.push_back(g.add("_SwitchN", {gradient, g.input(1)}, {{"num_outs", count}}).output(i));
  }
  g.set(0, g.add("Merge", sides));
  return g.status();
}

Status pass_cpu(KernelContext& c) {
  c.forward_output(0, c.input(0));
  return ok_status();
}

OpTraits of_values(Control control) { return {.control = control, .passes_host_memory_on = true}; }

OpDef passing(std::string_view name, const OpTraits& traits, std::string_view doc, ShapeRule rule) {
  return OpDef(name).doc(doc).traits(traits).shape(rule).cpu(stateless<pass_cpu>).provides_outputs();
}

OpDef switching(std::string_view name, const OpTraits& traits) {
  return OpDef(name)
      .doc("Passes data to output 1 if pred is true, else to output 0; the other output is dead.")
      .traits(traits)
      .shape(switch_shape)
      .cpu(stateless<switch_cpu>)
      .provides_outputs()
      .gradient(switch_gradient);
}

OpDef merging(std::string_view name, const OpTraits& traits) {
  return OpDef(name)
      .doc("The first input that is not dead, and its index.")
      .traits(traits)
      .shape(merge_shape)
      .cpu(stateless<merge_cpu>)
      .provides_outputs()
      .gradient(merge_gradient);
}

constexpr std::string_view kEnter = "Its input, as a value inside a loop.";
constexpr std::string_view kExit = "Its input, as a value outside the loop.";
constexpr std::string_view kNext = "Its input, for the next iteration.";

}  // namespace

OpDef switch_n_op() {
  return OpDef("_SwitchN")
      .doc("Passes data to output output_index, or to the last one if there is none such; the others are dead.")
      .traits({.control = Control::kSwitch})
      .shape(switch_n_shape)
      .cpu(stateless<switch_n_cpu>)
      .provides_outputs()
      .gradient(switch_n_gradient);
}
OpDef switch_op() { return switching("Switch", of_values(Control::kSwitch)); }
OpDef ref_switch_op() { return switching("RefSwitch", {.control = Control::kSwitch}); }
OpDef merge_op() { return merging("Merge", of_values(Control::kMerge)); }
OpDef ref_merge_op() { return merging("RefMerge", {.control = Control::kMerge}); }
OpDef enter_op() {
  return passing("Enter", of_values(Control::kEnter), kEnter, enter_shape).gradient(identity_gradient);
}
OpDef ref_enter_op() {
  return passing("RefEnter", {.control = Control::kEnter}, kEnter, shape_unchanged).gradient(identity_gradient);
}
OpDef exit_op() {
  return passing("Exit", of_values(Control::kExit), kExit, shape_unchanged).gradient(identity_gradient);
}
OpDef ref_exit_op() {
  return passing("RefExit", {.control = Control::kExit}, kExit, shape_unchanged).gradient(identity_gradient);
}
OpDef next_iteration_op() {
  return passing("NextIteration", of_values(Control::kNextIteration), kNext, shape_unchanged)
      .gradient(identity_gradient);
}
OpDef ref_next_iteration_op() {
  return passing("RefNextIteration", {.control = Control::kNextIteration}, kNext, shape_unchanged)
      .gradient(identity_gradient);
}
OpDef loop_cond_op() {
  return passing("LoopCond", {.loop_condition = true}, "The condition of a loop.", loop_cond_shape)
      .not_differentiable();
}

}  // namespace emplace
