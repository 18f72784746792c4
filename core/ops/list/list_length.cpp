// TensorListLength, ElementShape, Resize.
#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/list/elements.h"

namespace emplace {
namespace {

Status length_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(const TensorList* list, list_in(c.input(0)));
  RETURN_IF_ERROR(ensure_output(c, 0, Shape{}));
  *c.out<int32_t>(0) = static_cast<int32_t>(list->size());
  return ok_status();
}

Status element_shape_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(const TensorList* list, list_in(c.input(0)));
  const Shape& shape = list->element_shape;
  const bool known = shape.rank_known();
  RETURN_IF_ERROR(c.allocate_output(0, known ? Shape{shape.rank()} : Shape{}));
  const auto fill = [&](auto* out) {
    using T = std::remove_pointer_t<decltype(out)>;
    if (!known) return void(*out = -1);
    for (int d = 0; d < shape.rank(); ++d) out[d] = static_cast<T>(shape.dim(d));
  };
  c.output(0).dtype() == DType::kInt64 ? fill(c.out<int64_t>(0)) : fill(c.out<int32_t>(0));
  return ok_status();
}

Status resize_cpu(KernelContext& c) {
  const int64_t size = int_at(c.input(1), 0);
  if (size < 0) return invalid_argument(cat("TensorListSlice expects size to be non-negative. Got: ", size));
  RETURN_IF_ERROR(check_list_size(size));
  ASSIGN_OR_RETURN(TensorList * list, changed_list(c, 0, 0));
  list->elements.resize(size);
  return ok_status();
}

Status resize_gradient(GradientContext& g) {
  g.set(0, g.add("TensorListResize", {g.grad(0), g.add("TensorListLength", {g.input(0)})}));
  return g.status();
}

}  // namespace

OpDef tensor_list_length_op() {
  return OpDef("TensorListLength")
      .doc("How many elements the list has.")
      .traits({.reads_list_form = true})
      .shape(shape_scalar)
      .cpu(stateless<length_cpu>)
      .not_differentiable();
}
OpDef tensor_list_element_shape_op() {
  return OpDef("TensorListElementShape")
      .doc("The shape of the list's elements, -1 where it is open.")
      .traits({.reads_list_form = true})
      .shape(shape_unknown)
      .kernel_attr("shape_type")
      .cpu(DTypeSet{DType::kInt32, DType::kInt64}, stateless<element_shape_cpu>)
      .provides_outputs()
      .not_differentiable();
}
OpDef tensor_list_resize_op() {
  return OpDef("TensorListResize")
      .doc("The list cut to size, or with elements at its end that are not set.")
      .shape(list_shape)
      .cpu(stateless<resize_cpu>)
      .provides_outputs()
      .gradient(resize_gradient);
}

}  // namespace emplace
