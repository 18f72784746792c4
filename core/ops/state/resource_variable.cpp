// Resource variables: VarHandleOp hands out a handle, the others read and write what is behind it.
#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/state/variable_state.h"

namespace emplace {
namespace {

Status handle_shape(ShapeContext& c) {
  c.set_output(0, Shape{});
  c.set_output_handle(0, {c.attrs().type("dtype"), c.attrs().shape("shape")});
  return ok_status();
}

// The declared shape behind handle input 0; unknown if nobody said.
Result<Shape> declared_shape(const ShapeContext& c) {
  const HandleInfo* handle = c.input_handle(0);
  if (handle == nullptr) return Shape::unknown();
  DType wanted = c.attrs().type("dtype");
  if (handle->dtype != wanted) {
    return invalid_argument(cat("Trying to read variable with wrong dtype. Expected ", dtype_tf_name(handle->dtype),
                                " got ", dtype_tf_name(wanted)));
  }
  return handle->shape;
}

Status read_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape shape, declared_shape(c));
  c.set_output(0, shape);
  return ok_status();
}

Status write_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape shape, declared_shape(c));
  return ShapeContext::merge(shape, c.input(1)).take_status();
}

class VarHandle final : public Kernel {
 public:
  explicit VarHandle(Variable* variable) : variable_(variable) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelInit& init) {
    ASSIGN_OR_RETURN(Variable * variable, find_variable(init));
    return owned_kernel(new VarHandle(variable));
  }
  Status run(KernelContext& c) override {
    c.forward_output(0, variable_handle(DType::kResource, &variable_));
    return ok_status();
  }

 private:
  Variable* variable_;
};

Status read_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(Tensor value, value_behind_handle(c.variable(0), c.output(0).dtype()));
  c.forward_output(0, value);
  return ok_status();
}

class AssignVariable final : public Kernel {
 public:
  explicit AssignVariable(const KernelInit& init) : validate_(init.attrs.flag("validate_shape")) {}
  Status run(KernelContext& c) override {
    Variable& v = c.variable(0);
    const Tensor& value = c.input(1);
    std::lock_guard lock(v.mutex);
    if (v.dtype != value.dtype()) return wrong_type(v, "assign", value.dtype());
    if (validate_ && v.value.valid() && !(v.value.shape() == value.shape())) {
      return invalid_argument(cat("Trying to assign to variable with tensor with wrong shape. Expected ",
                                  v.value.shape().to_string(), " got ", value.shape().to_string()));
    }
    return store_value(c, v, value);
  }

 private:
  bool validate_;
};

Status update(KernelContext& c, RowOp op) {
  Variable& v = c.variable(0);
  const Tensor& value = c.input(1);
  std::lock_guard lock(v.mutex);
  if (!v.value.valid()) return no_such_variable(v);
  if (v.dtype != value.dtype()) return wrong_type(v, "assign", value.dtype());
  if (!(v.value.shape() == value.shape())) {
    return invalid_argument(cat("Cannot update variable with shape ", v.value.shape().to_string(),
                                " using a Tensor with shape ", value.shape().to_string(), ", shapes must be equal."));
  }
  return update_value(c, v, value, op);
}

Status assign_add_cpu(KernelContext& c) { return update(c, row_add(c.input(1).dtype())); }
Status assign_sub_cpu(KernelContext& c) { return update(c, row_subtract(c.input(1).dtype())); }

Status is_initialized_cpu(KernelContext& c) {
  Variable& v = c.variable(0);
  std::lock_guard lock(v.mutex);
  *c.out<bool>(0) = v.value.valid();
  return ok_status();
}

Status shape_cpu(KernelContext& c) {
  Variable& v = c.variable(0);
  std::lock_guard lock(v.mutex);
  if (!v.value.valid()) return no_such_variable(v);
  const Shape& shape = v.value.shape();
  RETURN_IF_ERROR(ensure_output(c, 0, Shape{shape.rank()}));
  for (int d = 0; d < shape.rank(); ++d) {
    if (c.output(0).dtype() == DType::kInt64) {
      c.out<int64_t>(0)[d] = shape.dim(d);
    } else {
      c.out<int32_t>(0)[d] = static_cast<int32_t>(shape.dim(d));
    }
  }
  return ok_status();
}

Status variable_shape_shape(ShapeContext& c) {
  const HandleInfo* handle = c.input_handle(0);
  const bool known = handle && handle->shape.rank_known();
  c.set_output(0, known ? Shape{handle->shape.rank()} : Shape::unknown_dims(1));
  return ok_status();
}

class DestroyResource final : public Kernel {
 public:
  explicit DestroyResource(const KernelInit& init) : may_miss_(init.attrs.flag("ignore_lookup_error")) {}
  Status run(KernelContext& c) override {
    Variable& v = c.variable(0);
    if (v.dtype == DType::kInvalid)
      return unimplemented("only variables are destroyed here: tables, stacks and arrays end with their last handle");
    std::lock_guard lock(v.mutex);
    if (!v.value.valid() && !may_miss_)
      return not_found(cat("Resource localhost/", v.name, "/N10tensorflow3VarE does not exist."));
    v.value = Tensor();
    return ok_status();
  }

 private:
  const bool may_miss_;
};

Status nothing_cpu(KernelContext&) { return ok_status(); }

}  // namespace

OpDef variable_shape_op() {
  return OpDef("VariableShape")
      .doc("The shape of the value behind the handle.")
      .shape(variable_shape_shape)
      .kernel_attr("out_type")
      .cpu(DTypeSet{DType::kInt32, DType::kInt64}, stateless<shape_cpu>)
      .not_differentiable();
}
OpDef disable_copy_on_read_op() {
  return OpDef("DisableCopyOnRead")
      .doc("Nothing: a variable's value is shared by its readers as it is.")
      .shape(shape_none)
      .cpu(stateless<nothing_cpu>)
      .not_differentiable();
}
OpDef destroy_resource_op() {
  return OpDef("DestroyResourceOp")
      .doc("Takes the value away from the variable behind the handle.")
      .traits({.writes_variable = true})
      .shape(shape_none)
      .cpu(make<DestroyResource>);
}
OpDef var_handle_op() {
  return OpDef("VarHandleOp")
      .doc("A handle to a tensor that persists over steps.")
      .traits({.variable = true})
      .shape(handle_shape)
      .kernel_attr("dtype")
      .cpu(kMovable, VarHandle::create)
      .provides_outputs();
}
OpDef read_variable_op() {
  return OpDef("ReadVariableOp")
      .doc("The value behind the handle.")
      .traits({.reads_variable = true, .leaves_state = true})
      .shape(read_shape)
      .kernel_attr("dtype")
      .cpu(kMovable, stateless<read_cpu>)
      .provides_outputs()
      .gradient(identity_gradient);
}
OpDef assign_variable_op() {
  return OpDef("AssignVariableOp")
      .doc("Sets the value behind the handle.")
      .traits({.writes_variable = true, .assigns = true})
      .shape(write_shape)
      .kernel_attr("dtype")
      .cpu(kMovable, make<AssignVariable>);
}
OpDef assign_add_variable_op() {
  return OpDef("AssignAddVariableOp")
      .doc("Adds to the value behind the handle.")
      .traits({.writes_variable = true})
      .shape(write_shape)
      .kernel_attr("dtype")
      .cpu(kNumbers, stateless<assign_add_cpu>);
}
OpDef assign_sub_variable_op() {
  return OpDef("AssignSubVariableOp")
      .doc("Subtracts from the value behind the handle.")
      .traits({.writes_variable = true})
      .shape(write_shape)
      .kernel_attr("dtype")
      .cpu(kNumbers, stateless<assign_sub_cpu>);
}
OpDef var_is_initialized_op() {
  return OpDef("VarIsInitializedOp")
      .doc("Has the variable behind the handle been assigned?")
      .traits({.leaves_state = true})
      .shape(shape_scalar)
      .cpu(stateless<is_initialized_cpu>)
      .not_differentiable();
}

}  // namespace emplace
