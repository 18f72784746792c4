// Fill, Empty, ZerosLike, OnesLike: one value everywhere.
#include <cstring>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/moved_variants.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/kit/strided_copy.h"
#include "core/ops/list/elements.h"

namespace emplace {
namespace {

Status fill_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(0, 1).take_status());
  RETURN_IF_ERROR(c.with_rank(1, 0).take_status());
  if (const Tensor* dims = c.input_value(0)) {
    for (int64_t i = 0; i < dims->num_elements(); ++i) {
      if (int_at(*dims, i) < 0) return invalid_argument("Fill dimensions must be >= 0");
    }
  }
  ASSIGN_OR_RETURN(Shape out, shape_from_input(c, 0));
  c.set_output(0, out);
  return ok_status();
}

Status fill_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(Shape shape, shape_of_values(c.input(0)));
  if (c.input(1).num_elements() != 1) {
    return invalid_argument(cat("value must represent a scalar, got shape ", c.input(1).shape().to_string()));
  }
  RETURN_IF_ERROR(ensure_output(c, 0, shape));
  StridedCopy copy;
  copy.add(c.output(0).num_elements(), 0, 1);
  copy.run(*c.parallel_, c.input(1).dtype(), c.input(1).raw(), c.output(0).raw());
  return ok_status();
}

Status empty_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape out, shape_from_input(c, 0));
  c.set_output(0, out);
  return ok_status();
}

// TensorFlow promises nothing of what is there unless `init` asks for zeros; here a graph gives the same bytes each
// time.
Status empty_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(Shape shape, shape_of_values(c.input(0)));
  RETURN_IF_ERROR(ensure_output(c, 0, shape));
  fill_zeros(*c.parallel_, c.output(0));
  return ok_status();
}

// The pattern of 1 in each type.
struct One {
  alignas(16) char bytes[16] = {};
};

template <class T>
One pattern(T value) {
  One one;
  std::memcpy(one.bytes, &value, sizeof value);
  return one;
}

One one_of(DType t) {
  switch (t) {
    case DType::kFloat:
    case DType::kComplex64:
      return pattern(1.0f);
    case DType::kDouble:
    case DType::kComplex128:
      return pattern(1.0);
    case DType::kHalf:
      return pattern(half(1.0f));
    case DType::kBFloat16:
      return pattern(bfloat16(1.0f));
    default:
      return pattern(uint64_t{1});
  }
}

Status zeros_like_cpu(KernelContext& c) {
  fill_zeros(*c.parallel_, c.output(0));
  return ok_status();
}

// Element by element, variants in variants, too; what is not set stays so, the rows of a ragged tensor are as long, and
// a map has no entries.
Result<Tensor> zero_variant(KernelContext& c, const Tensor& variant, int depth) {
  if (depth == kMostNestedLists) return nested_too_deep();
  ASSIGN_OR_RETURN(const TensorList* list, held_in(variant));
  if (list->held == Held::kTensor) return unimplemented("zeros like a tensor that a variant holds");
  if (list->held == Held::kMap) return list_tensor({list->dtype, list->element_shape, -1, {}, Held::kMap});
  TensorList zeros = list->unset();
  for (int64_t i = list->elements.first(); i < list->elements.last(); ++i) {
    const Tensor& element = list->elements[i];
    if (!element.valid()) continue;
    if (element.dtype() == DType::kVariant) {
      ASSIGN_OR_RETURN(zeros.elements.at(i), zero_variant(c, element, depth + 1));
    } else if (list->held == Held::kRagged && i + 1 < list->size()) {
      zeros.elements.at(i) = element;
    } else {
      ASSIGN_OR_RETURN(zeros.elements.at(i), list_zeros(c, element.dtype(), element.shape()));
    }
  }
  return list_tensor(std::move(zeros), variant.shape());
}

Status zero_variant_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(Tensor zeros, zero_variant(c, c.input(0), 0));
  c.forward_output(0, std::move(zeros));
  return ok_status();
}

Status ones_like_cpu(KernelContext& c) {
  Tensor& out = c.output(0);
  One one = one_of(out.dtype());
  fill_elements(*c.parallel_, out.dtype(), one.bytes, out.raw(), out.num_elements());
  return ok_status();
}

Status fill_gradient(GradientContext& g) {
  g.set(1, g.sum(g.grad(0), g.all_axes(g.grad(0))));
  return g.status();
}

}  // namespace

OpDef fill_op() {
  return OpDef("Fill")
      .doc("A tensor of the given shape filled with one value.")
      .shape(fill_shape)
      .cpu(kMovable, stateless<fill_cpu>)
      .cpu(DTypeSet{DType::kVariant}, moving_variants<stateless<fill_cpu>>)
      .value_inputs({0})
      .gradient(fill_gradient);
}
OpDef empty_op() {
  return OpDef("Empty")
      .doc("A tensor of the given shape: zeros, of strings empty ones.")
      .traits({.leaves_state = true})
      .shape(empty_shape)
      .kernel_attr("dtype")
      .cpu(kAllData, stateless<empty_cpu>)
      .value_inputs({0})
      .not_differentiable();
}
OpDef zeros_like_op() {
  return OpDef("ZerosLike")
      .doc("Zeros (of strings: empty ones) in the shape of x.")
      .shape(shape_unchanged)
      .cpu(kAllData, stateless<zeros_like_cpu>)
      .cpu(DTypeSet{DType::kVariant}, stateless<zero_variant_cpu>)
      .not_differentiable();
}
OpDef ones_like_op() {
  return OpDef("OnesLike")
      .doc("Ones in the shape of x.")
      .shape(shape_unchanged)
      .cpu(kNumbersAndBool, stateless<ones_like_cpu>)
      .not_differentiable();
}

}  // namespace emplace
