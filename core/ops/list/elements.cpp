#include "core/ops/list/elements.h"

#include "core/base/cat.h"

namespace emplace {

Status check_list_dtype(const TensorList& list, DType wanted) {
  if (list.dtype == wanted) return ok_status();
  return invalid_argument(
      cat("Invalid data types; op elements ", dtype_tf_name(wanted), " but list elements ", dtype_tf_name(list.dtype)));
}

Result<Shape> element_shape_in(const Tensor& t) {
  if (t.shape().rank() == 0) {
    if (int_at(t, 0) == -1) return Shape::unknown();
    return invalid_argument(cat("The only valid scalar shape tensor is the fully unknown shape specified as -1."));
  }
  if (t.shape().rank() != 1 || t.num_elements() > kMaxRank)
    return invalid_argument(cat("element_shape must be a vector, not of shape ", t.shape().to_string()));
  Shape shape;
  for (int64_t k = 0; k < t.num_elements(); ++k) {
    const int64_t size = int_at(t, k);
    if (size < -1) return invalid_argument(cat("Dimension ", size, " must be >= -1"));
    shape.add_dim(size);
  }
  return shape;
}

Shape known_element_shape(const ShapeContext& c, int i) {
  const Shape& form = c.input(i);
  return form.rank_known() && form.rank() == 1 ? c.input_as_shape(i) : Shape::unknown();
}

Result<Shape> merged_element_shape(const TensorList& list, const Shape& asked) {
  Result<Shape> merged = ShapeContext::merge(list.element_shape, asked);
  if (!merged.ok()) {
    return invalid_argument(
        cat("Incompatible shapes during merge: ", list.element_shape.to_string(), " vs. ", asked.to_string()));
  }
  if (merged->rank_known() && merged->fully_known()) return merged;
  for (int64_t i = list.elements.first(); i < list.elements.last(); ++i) {
    const Tensor& element = list.elements[i];
    if (!element.valid()) continue;
    merged = ShapeContext::merge(*merged, element.shape());
    if (!merged.ok()) return merged;
  }
  return merged;
}

Result<Tensor> list_zeros(KernelContext& c, DType dtype, const Shape& shape) {
  const bool on_host = (c.host_outputs_ & 1) != 0;
  ASSIGN_OR_RETURN(Tensor zeros, (on_host ? c.host_allocator_ : c.allocator_)->allocate(dtype, shape));
  fill_zeros(*c.parallel_, zeros);
  return zeros;
}

Result<Tensor> element_or_zeros(KernelContext& c, const TensorList& list, int64_t i, const Shape& asked) {
  const Tensor& element = list.elements[i];
  if (element.valid()) return element;
  ASSIGN_OR_RETURN(const Shape shape, merged_element_shape(list, asked));
  if (!shape.rank_known() || !shape.fully_known()) {
    return invalid_argument(cat("Trying to read an uninitialized tensor but element_shape is not fully defined: ",
                                shape.to_string(), " and no list element is set."));
  }
  if (list.dtype == DType::kVariant) {
    RETURN_IF_ERROR(check_list_size(shape.checked_num_elements().value_or(INT64_MAX)));
    ListElements nothing;
    nothing.resize(shape.num_elements());
    return variants_tensor(shape, std::move(nothing));
  }
  return list_zeros(c, list.dtype, shape);
}

Tensor rows_of(const Tensor& tensor, int64_t begin, int64_t n) {
  Shape shape{n};
  for (int d = 1; d < tensor.shape().rank(); ++d) shape.add_dim(tensor.shape().dim(d));
  const int64_t rows = tensor.shape().dim(0), row = rows == 0 ? 0 : tensor.num_elements() / rows;
  if (tensor.dtype() == DType::kVariant) {
    ListElements elements;
    for (int64_t i = begin * row; i < (begin + n) * row; ++i) elements.push_back(variant_at(tensor, i));
    return variants_tensor(shape, std::move(elements));
  }
  auto* at = static_cast<char*>(tensor.raw()) + begin * row * element_stride(tensor.dtype());
  return Tensor::wrap(tensor.dtype(), shape, at, tensor.buffer());
}

Tensor row_of(const Tensor& tensor, int64_t i) {
  if (tensor.dtype() == DType::kVariant && tensor.shape().rank() == 1) return variant_at(tensor, i);
  const Tensor rows = rows_of(tensor, i, 1);
  return rows.reshaped(Shape(rows.shape().dims().subspan(1)));
}

Result<Tensor> kept_rows(KernelContext& c, const Tensor& tensor, int64_t begin, int64_t n) {
  constexpr uintptr_t kAligned = 16;  // as every tensor of a GPU is
  Tensor rows = rows_of(tensor, begin, n);
  if (tensor.dtype() == DType::kVariant) return rows;
  if (!c.parallel_->mover() || reinterpret_cast<uintptr_t>(rows.raw()) % kAligned == 0) return rows;
  ASSIGN_OR_RETURN(Tensor own, c.allocator_->allocate(rows.dtype(), rows.shape()));
  copy_elements(*c.parallel_, rows.dtype(), rows.raw(), own.raw(), rows.num_elements());
  return own;
}

Result<Tensor> kept_row(KernelContext& c, const Tensor& tensor, int64_t i) {
  if (tensor.dtype() == DType::kVariant) return row_of(tensor, i);
  ASSIGN_OR_RETURN(const Tensor rows, kept_rows(c, tensor, i, 1));
  return rows.reshaped(Shape(rows.shape().dims().subspan(1)));
}

Status check_item(const TensorList& list, const Shape& item) {
  if (list.element_shape.compatible_with(item)) return ok_status();
  return invalid_argument(cat("Tried to set a tensor with incompatible shape at a list index. Item element shape: ",
                              item.to_string(), " list shape: ", list.element_shape.to_string()));
}

void append_variants(ListElements& elements, const Tensor& variants, int64_t n) {
  for (int64_t i = 0; i < n; ++i) elements.push_back(variants.valid() ? variant_at(variants, i) : Tensor());
}

Status check_list_size(int64_t size) {
  constexpr int64_t kMost = int64_t{1} << 24;  // their slots alone would take gigabytes
  if (size <= kMost) return ok_status();
  return resource_exhausted(cat("a list of ", size, " elements was asked for; ", kMost, " are possible"));
}

Status list_shape(ShapeContext& c) {
  c.set_output(0, Shape{});
  return ok_status();
}

}  // namespace emplace
