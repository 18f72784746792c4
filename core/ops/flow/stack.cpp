// Stacks of tensors, by which a loop hands the values of its iterations to the loop of its gradients. A stack belongs
// to the step that made it: what it holds is freed with its last handle. Always empty at a step's start.
#include "core/base/cat.h"
#include "core/base/host_allocator.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/step_resource.h"

namespace emplace {
namespace {

struct Stack : StepResource {
  static constexpr std::string_view kKind = "a stack";
  Stack() : StepResource(kKind) {}
  std::vector<Tensor, EntryAllocator<Tensor>> elements;
  bool closed = false;
};

// Neither the size nor the type of the elements is a promise that TensorFlow's kernels hold anybody to.
class MakeStack final : public Kernel {
 public:
  explicit MakeStack(const KernelInit& init) : name_(init.attrs.text("stack_name")) {
    if (name_.empty()) name_ = init.node_name;
  }
  Status run(KernelContext& c) override {
    if (c.input(0).shape().rank() != 0)
      return invalid_argument(cat("Stack size must be a scalar, but had shape: ", c.input(0).shape().to_string()));
    auto [handle, stack] = new_step_resource<Stack>();
    stack->name = name_;
    c.forward_output(0, std::move(handle));
    return ok_status();
  }

 private:
  std::string name_;
};

Status closed(const Stack& stack) { return invalid_argument(cat("Stack[", stack.name, "] has already been closed.")); }

Status push_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(Stack * stack, step_resource<Stack>(c));
  std::lock_guard lock(stack->mutex);
  if (stack->closed) return closed(*stack);
  stack->elements.push_back(c.input(1));
  c.forward_output(0, c.input(1));
  return ok_status();
}

Status pop_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(Stack * stack, step_resource<Stack>(c));
  std::lock_guard lock(stack->mutex);
  if (stack->closed) return closed(*stack);
  if (stack->elements.empty()) return invalid_argument(cat("Stack[", stack->name, "] is empty when calling Pop()."));
  const DType found = stack->elements.back().dtype(), wanted = c.output(0).dtype();
  if (found != wanted) {
    return internal_error(cat("Output 0 of type ", dtype_tf_name(found), " does not match declared output type ",
                              dtype_tf_name(wanted), " for node ", c.node_name()));
  }
  c.forward_output(0, std::move(stack->elements.back()));
  stack->elements.pop_back();
  return ok_status();
}

Status close_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(Stack * stack, step_resource<Stack>(c));
  std::lock_guard lock(stack->mutex);
  stack->elements.clear();
  stack->closed = true;
  return ok_status();
}

Status handle_shape(ShapeContext& c) {
  c.set_output(0, Shape{});
  return ok_status();
}

Status pushed_shape(ShapeContext& c) {
  c.set_output(0, c.input(1));
  return ok_status();
}

Status popped_shape(ShapeContext& c) {
  c.set_output(0, Shape::unknown());
  return ok_status();
}

}  // namespace

OpDef stack_v2_op() {
  return OpDef("StackV2")
      .doc("A new stack of tensors, for one step.")
      .shape(handle_shape)
      .kernel_attr("elem_type")
      .cpu(make<MakeStack>)
      .provides_outputs()
      .not_differentiable();
}
OpDef stack_push_v2_op() {
  return OpDef("StackPushV2")
      .doc("Puts a tensor on the stack, and hands it on.")
      .traits({.keeps_input = true})
      .shape(pushed_shape)
      .cpu(stateless<push_cpu>)
      .provides_outputs()
      .not_differentiable();
}
OpDef stack_pop_v2_op() {
  return OpDef("StackPopV2")
      .doc("Takes the tensor that was pushed last from the stack.")
      .traits({.gives_kept = true})
      .shape(popped_shape)
      .kernel_attr("elem_type")
      .cpu(stateless<pop_cpu>)
      .provides_outputs()
      .not_differentiable();
}
OpDef stack_close_v2_op() {
  return OpDef("StackCloseV2")
      .doc("Empties the stack.")
      .shape(shape_none)
      .cpu(stateless<close_cpu>)
      .not_differentiable();
}

}  // namespace emplace
