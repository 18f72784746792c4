// Reference variables: VariableV2 hands out a reference, Assign and its kin write through it.
#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/state/variable_state.h"

namespace emplace {
namespace {

Status variable_v2_shape(ShapeContext& c) {
  c.set_output(0, c.attrs().shape("shape"));
  return ok_status();
}

// In the first Variable a shape of [] could also mean "not known".
Status variable_v1_shape(ShapeContext& c) {
  const Shape& shape = c.attrs().shape("shape");
  c.set_output(0, shape.rank_known() && shape.rank() > 0 ? shape : Shape::unknown());
  return ok_status();
}

Status merged_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape merged, ShapeContext::merge(c.input(0), c.input(1)));
  c.set_output(0, merged);
  return ok_status();
}

Status assign_shape(ShapeContext& c) {
  if (c.attrs().flag("validate_shape")) return merged_shape(c);
  c.set_output(0, c.input(1));
  return ok_status();
}

class VariableNode final : public Kernel {
 public:
  explicit VariableNode(Variable* variable, DType output) : variable_(variable), output_(output) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelInit& init) {
    ASSIGN_OR_RETURN(Variable * variable, find_variable(init));
    return owned_kernel(new VariableNode(variable, init.output_types[0]));
  }
  Status run(KernelContext& c) override {
    c.forward_output(0, variable_handle(output_, &variable_));
    return ok_status();
  }

 private:
  Variable* variable_;
  DType output_;
};

class Assign final : public Kernel {
 public:
  explicit Assign(const KernelInit& init) : validate_(init.attrs.flag("validate_shape")) {}
  Status run(KernelContext& c) override {
    Variable& v = c.variable(0);
    const Tensor& value = c.input(1);
    std::lock_guard lock(v.mutex);
    const Shape& shape = v.value.valid() ? v.value.shape() : v.declared_shape;
    if (validate_ && !shape.compatible_with(value.shape())) {
      return invalid_argument(cat("Assign requires shapes of both tensors to match. lhs shape= ", shape.to_string(),
                                  " rhs shape= ", value.shape().to_string()));
    }
    RETURN_IF_ERROR(store_value(c, v, value));
    c.forward_output(0, c.input(0));
    return ok_status();
  }

 private:
  bool validate_;
};

Status update_reference(KernelContext& c, RowOp op) {
  Variable& v = c.variable(0);
  const Tensor& value = c.input(1);
  std::lock_guard lock(v.mutex);
  if (!v.value.valid()) return uninitialized(v);
  if (!(v.value.shape() == value.shape())) return invalid_argument("Parameters and update must be the same size");
  RETURN_IF_ERROR(update_value(c, v, value, op));
  c.forward_output(0, c.input(0));
  return ok_status();
}

Status assign_add_reference(KernelContext& c) { return update_reference(c, row_add(c.input(1).dtype())); }
Status assign_sub_reference(KernelContext& c) { return update_reference(c, row_subtract(c.input(1).dtype())); }

Status is_reference_initialized(KernelContext& c) {
  Variable& v = c.variable(0);
  std::lock_guard lock(v.mutex);
  *c.out<bool>(0) = v.value.valid();
  return ok_status();
}

OpDef variable_node(std::string_view name, const OpTraits& traits, ShapeRule rule) {
  return OpDef(name)
      .doc("A reference to a tensor that persists over steps.")
      .traits(traits)
      .shape(rule)
      .kernel_attr("dtype")
      .cpu(kMovable, VariableNode::create)
      .provides_outputs();
}

}  // namespace

OpDef variable_op() {
  return variable_node("Variable", {.variable = true, .legacy_variable = true}, variable_v1_shape);
}
OpDef variable_v2_op() { return variable_node("VariableV2", {.variable = true}, variable_v2_shape); }

OpDef assign_op() {
  return OpDef("Assign")
      .doc("ref = value; gives ref.")
      .traits({.writes_variable = true, .assigns = true})
      .shape(assign_shape)
      .cpu(kMovable, make<Assign>)
      .provides_outputs()
      .not_differentiable();
}
OpDef assign_add_op() {
  return OpDef("AssignAdd")
      .doc("ref += value; gives ref.")
      .traits({.writes_variable = true})
      .shape(merged_shape)
      .cpu(kNumbers, stateless<assign_add_reference>)
      .provides_outputs()
      .not_differentiable();
}
OpDef assign_sub_op() {
  return OpDef("AssignSub")
      .doc("ref -= value; gives ref.")
      .traits({.writes_variable = true})
      .shape(merged_shape)
      .cpu(kNumbers, stateless<assign_sub_reference>)
      .provides_outputs()
      .not_differentiable();
}
OpDef is_variable_initialized_op() {
  return OpDef("IsVariableInitialized")
      .doc("Has the variable been assigned?")
      .shape(shape_scalar)
      .kernel_attr("dtype")
      .cpu(kMovable, stateless<is_reference_initialized>);
}

}  // namespace emplace
