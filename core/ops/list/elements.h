/// What the ops on lists share: elements and their shapes.
#pragma once

#include "core/op/op_traits.h"
#include "core/op/shape_context.h"
#include "core/op/tensor_list.h"
#include "core/ops/kit/element.h"

namespace emplace {

/// What the elements of lists can be.
inline constexpr DTypeSet kListable = kMovable | DTypeSet{DType::kVariant};

/// Of the ops whose output or input is a list of elements of attr `element_dtype`.
constexpr OpTraits list_traits(uint8_t element_inputs) {
  return {.tensor_list = true, .element_attr = "element_dtype", .element_inputs = element_inputs};
}
inline constexpr OpTraits kListTraits = list_traits(0);

Status check_list_dtype(const TensorList& list, DType wanted);
/// The integer vector as a shape with -1 for unknown sizes; a scalar -1 is a shape of which nothing is known.
Result<Shape> element_shape_in(const Tensor& t);
/// The same of what is known before the run.
Shape known_element_shape(const ShapeContext& c, int i);
/// The list's element shape with what `asked` and the elements that are set say. InvalidArgument if they differ.
Result<Shape> merged_element_shape(const TensorList& list, const Shape& asked);
/// An element; for one that is not set zeros of a fully known shape, or variants that hold nothing.
Result<Tensor> element_or_zeros(KernelContext& c, const TensorList& list, int64_t i, const Shape& asked);
/// Zeros in the memory of the kernel's outputs.
Result<Tensor> list_zeros(KernelContext& c, DType dtype, const Shape& shape);
/// Row `i` of dimension 0, sharing the tensor's buffer. An invalid tensor for a scalar variant that holds nothing.
Tensor row_of(const Tensor& tensor, int64_t i);
/// Rows [begin, begin + n).
Tensor rows_of(const Tensor& tensor, int64_t begin, int64_t n);
/// The same, to be kept as elements: they share the tensor's buffer, unless a GPU's kernels could not load them from
/// where they begin.
Result<Tensor> kept_row(KernelContext& c, const Tensor& tensor, int64_t i);
Result<Tensor> kept_rows(KernelContext& c, const Tensor& tensor, int64_t begin, int64_t n);
/// The `n` elements of a variant; of an invalid tensor as many that hold nothing.
void append_variants(ListElements& elements, const Tensor& variants, int64_t n);
/// Does a whole element fit the list? Else what TensorFlow says.
Status check_item(const TensorList& list, const Shape& item);

/// ResourceExhausted: no list can be that long.
Status check_list_size(int64_t size);

/// Output 0 is a handle.
Status list_shape(ShapeContext& c);

}  // namespace emplace
