// XlaDynamicSlice, XlaDynamicUpdateSlice: a box out of a tensor, and a tensor with a box put into it, which is moved to
// where it lies within. Keras' ops.slice_update is the latter.
#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/op_def.h"
#include "core/ops/array/dynamic_window.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/kit/strided_copy.h"

namespace emplace {
namespace {

/// Bytes of `x` from its first element to the first of a box of `size` that input `places` has the place of.
int64_t offset_of_box(const Tensor& x, const Tensor& places, const Shape& size, const ScratchVector<int64_t>& strides) {
  int64_t offset = 0;
  for (int d = 0; d < size.rank(); ++d)
    offset += place_of_box(int_at(places, d), size.dim(d), x.shape().dim(d)) * strides[static_cast<size_t>(d)];
  return offset;
}

Status dynamic_slice_cpu(KernelContext& c) {
  const Tensor& x = c.input(0);
  ASSIGN_OR_RETURN(const Shape size, box_to_take(c));
  RETURN_IF_ERROR(ensure_output(c, 0, size));
  if (c.output(0).num_elements() == 0) return ok_status();
  const ScratchVector<int64_t> strides = row_major_strides(x.shape()), out_strides = row_major_strides(size);
  StridedCopy copy;
  copy.in_offset = offset_of_box(x, c.input(1), size, strides);
  for (size_t d = 0; d < strides.size(); ++d) copy.add(size.dim(static_cast<int>(d)), strides[d], out_strides[d]);
  copy.run(*c.parallel_, x.dtype(), x.raw(), c.output(0).raw());
  return ok_status();
}

Status dynamic_update_slice_cpu(KernelContext& c) {
  const Tensor &x = c.input(0), &update = c.input(1);
  RETURN_IF_ERROR(check_box_to_put(c));
  RETURN_IF_ERROR(ensure_output(c, 0, x.shape()));
  Tensor& out = c.output(0);
  copy_elements(*c.parallel_, x.dtype(), x.raw(), out.raw(), x.num_elements());
  if (update.num_elements() == 0) return ok_status();
  const ScratchVector<int64_t> strides = row_major_strides(x.shape()), from = row_major_strides(update.shape());
  StridedCopy copy;
  for (size_t d = 0; d < strides.size(); ++d) copy.add(update.shape().dim(static_cast<int>(d)), from[d], strides[d]);
  copy.run(*c.parallel_, x.dtype(), update.raw(),
           element_at(out, offset_of_box(x, c.input(2), update.shape(), strides)));
  return ok_status();
}

Status dynamic_slice_shape(ShapeContext& c) {
  if (!c.input(2).rank_known()) return ok_status();
  if (c.input(2).rank() != 1)
    return invalid_argument(cat("size_indices must be a 1D tensor, found rank ", c.input(2).rank()));
  if (c.input_value(2) == nullptr) {
    if (c.input(2).dim(0) >= 0) c.set_output(0, Shape::unknown_dims(static_cast<int>(c.input(2).dim(0))));
    return ok_status();
  }
  ASSIGN_OR_RETURN(Shape size, shape_from_input(c, 2));
  c.set_output(0, size);
  return ok_status();
}

Status updated_shape(ShapeContext& c) {
  c.set_output(0, c.input(0));
  return ok_status();
}

}  // namespace

OpDef xla_dynamic_slice_op() {
  return OpDef("XlaDynamicSlice")
      .doc("The box of the given sizes at the given place, moved to where it lies within the tensor.")
      .shape(dynamic_slice_shape)
      .kernel_attr("T")
      .cpu(kNumbersAndBool | kTiny, stateless<dynamic_slice_cpu>)
      .value_inputs({2});
}
OpDef xla_dynamic_update_slice_op() {
  return OpDef("XlaDynamicUpdateSlice")
      .doc("The tensor with another put into it at the given place, moved to where it lies within.")
      .shape(updated_shape)
      .kernel_attr("T")
      .cpu(kNumbersAndBool | kTiny, stateless<dynamic_update_slice_cpu>);
}

}  // namespace emplace
