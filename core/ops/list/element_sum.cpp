#include "core/ops/list/element_sum.h"

#include "core/base/cat.h"
#include "core/base/mover.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/list/elements.h"

namespace emplace {
namespace {

struct AddElements {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    return add(a, b);
  }
};

}  // namespace

Status ElementSum::add_list(KernelContext& c, TensorList& to, const TensorList& more, int depth) {
  if (depth == kMostNestedLists) return nested_too_deep();
  RETURN_IF_ERROR(check_list_dtype(more, to.dtype));
  if (more.size() != to.size()) {
    return invalid_argument(cat("Trying to add two lists of tensors of different lengths. One is ", to.size(),
                                " and the other is ", more.size()));
  }
  ASSIGN_OR_RETURN(to.element_shape, ShapeContext::merge(to.element_shape, more.element_shape));
  for (int64_t e = more.elements.first(); e < more.elements.last(); ++e) {
    const Tensor& element = more.elements[e];
    if (element.valid()) RETURN_IF_ERROR(add(c, element.dtype(), to.elements.at(e), element, depth));
  }
  return ok_status();
}

Status ElementSum::add(KernelContext& c, DType type, Tensor& to, const Tensor& more, int depth) {
  if (!more.valid()) return ok_status();
  if (!to.valid()) return to = more, ok_status();
  if (type == DType::kVariant) {
    ASSIGN_OR_RETURN(const TensorList* held, list_in(to));
    ASSIGN_OR_RETURN(const TensorList* other, list_in(more));
    TensorList sum = *held;
    RETURN_IF_ERROR(add_list(c, sum, *other, depth + 1));
    return to = list_tensor(std::move(sum)), ok_status();
  }
  if (!kNumbers.has(type)) return unimplemented(cat("lists of ", dtype_tf_name(type), " cannot be added"));
  if (!(to.shape() == more.shape())) {
    return invalid_argument(cat("elements of lists that are added have the shapes ", to.shape().to_string(), " and ",
                                more.shape().to_string()));
  }
  if (Mover* mover = c.parallel_->mover()) {
    ASSIGN_OR_RETURN(Tensor total, list_zeros(c, type, to.shape()));
    const Mover::Axis line{to.num_elements(), 1, 1};
    copy_elements(*c.parallel_, type, to.raw(), total.raw(), to.num_elements());
    if (line.size > 0) mover->add(type, {&line, 1}, more.raw(), total.raw());
    to = std::move(total);
    return ok_status();
  }
  if (!add_ || type_ != type) {
    add_.emplace(elementwise_code<AddElements, float, double, int32_t, int64_t, uint64_t, complex64, complex128>(type),
                 type, type, 2);
    type_ = type;
  }
  static constexpr int64_t kAdvance[] = {1, 1};
  ASSIGN_OR_RETURN(Tensor total, list_zeros(c, type, to.shape()));
  const void* operands[] = {to.raw(), more.raw()};
  const auto& code = add_->get();
  code.function(operands, kAdvance, total.raw(), total.num_elements(), code.params);
  to = std::move(total);
  return ok_status();
}

}  // namespace emplace
