#include "core/ops/list/element_sum.h"

#include "core/base/cat.h"
#include "core/base/mover.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/list/elements.h"
#include "core/ops/list/map_entries.h"

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

// Values of one key; what only one of them has stays.
Status ElementSum::add_map(KernelContext& c, TensorList& to, const TensorList& more, int depth) {
  for (int64_t i = 0; i < more.size(); i += 2) {
    const Tensor &key = more.elements[i], &value = more.elements[i + 1];
    const MapPlace place = find_entry(to, key);
    if (place.found) {
      RETURN_IF_ERROR(add(c, value.dtype(), to.elements.at(2 * place.entry + 1), value, depth));
    } else {
      put_entry(to, key, value);
    }
  }
  return ok_status();
}

// Values of rows that are as long.
Status ElementSum::add_ragged(KernelContext& c, TensorList& to, const TensorList& more, int depth) {
  if (to.size() != more.size()) {
    return invalid_argument(cat("Can't add RaggedTensorVariants of different ragged rank. One is ", to.size() - 1,
                                " and the other is ", more.size() - 1));
  }
  if (c.parallel_->mover()) return unimplemented("ragged tensors are added in host memory only");
  const int64_t values = to.size() - 1;
  for (int64_t i = 0; i < values; ++i) {
    if (!same_bytes(to.elements[i], more.elements[i]))
      return invalid_argument("Can't add RaggedTensorVariants with different row_splits.");
  }
  RETURN_IF_ERROR(check_list_dtype(more, to.dtype));
  return add(c, to.dtype, to.elements.at(values), more.elements[values], depth);
}

// One that holds nothing counts as zeros.
Status ElementSum::add_variants(KernelContext& c, Tensor& to, const Tensor& more, int depth) {
  if (depth == kMostNestedLists) return nested_too_deep();
  if (!(to.shape() == more.shape())) {
    return invalid_argument(
        cat("variants that are added have the shapes ", to.shape().to_string(), " and ", more.shape().to_string()));
  }
  if (to.shape().rank() > 0) {
    ListElements sums;
    for (int64_t i = 0; i < to.num_elements(); ++i) {
      Tensor sum = variant_at(to, i);
      RETURN_IF_ERROR(add(c, DType::kVariant, sum, variant_at(more, i), depth + 1));
      sums.push_back(std::move(sum));
    }
    return to = variants_tensor(to.shape(), std::move(sums)), ok_status();
  }
  const Tensor left = variant_at(to, 0), right = variant_at(more, 0);
  if (!left.valid() || !right.valid()) return to = left.valid() ? left : more, ok_status();
  ASSIGN_OR_RETURN(const TensorList* held, held_in(left));
  ASSIGN_OR_RETURN(const TensorList* other, held_in(right));
  if (held->held != other->held) return invalid_argument("variants that hold different things cannot be added");
  if (held->held == Held::kTensor) return unimplemented("tensors that variants hold cannot be added");
  TensorList sum = *held;
  RETURN_IF_ERROR(held->held == Held::kRagged ? add_ragged(c, sum, *other, depth + 1)
                  : held->held == Held::kMap  ? add_map(c, sum, *other, depth + 1)
                                              : add_list(c, sum, *other, depth + 1));
  return to = list_tensor(std::move(sum)), ok_status();
}

Status ElementSum::add(KernelContext& c, DType type, Tensor& to, const Tensor& more, int depth) {
  if (!more.valid()) return ok_status();
  if (!to.valid()) return to = more, ok_status();
  if (type == DType::kVariant) return add_variants(c, to, more, depth);
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
