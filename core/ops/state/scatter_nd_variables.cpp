// ScatterNdAdd, Sub, Max, Min, Update and the Resource forms: slices of a variable, named by tuples of indices, changed
// in place.
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/row_ops.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/state/variable_state.h"

namespace emplace {
namespace {

Status slices_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape indices, c.with_rank_at_least(1, 1));
  ASSIGN_OR_RETURN(const Shape updates, c.with_rank_at_least(2, 1));
  const HandleInfo* handle = c.input_handle(0);
  const int64_t depth = dim_or_unknown(indices, -1);
  if (!handle || !handle->shape.rank_known() || !indices.rank_known() || depth < 0) return ok_status();
  ASSIGN_OR_RETURN(const Shape outer, subshape(indices, 0, -1));
  ASSIGN_OR_RETURN(const Shape slice, subshape(handle->shape, std::min<int64_t>(depth, handle->shape.rank())));
  return ShapeContext::merge(concat_shapes(outer, slice), updates).take_status();
}

/// `op` null: assign.
Status change_slices(KernelContext& c, RowOp op) {
  Variable& v = c.variable(0);
  const Tensor &indices = c.input(1), &updates = c.input(2);
  std::lock_guard lock(v.mutex);
  if (!v.value.valid() && is_ref(c.input(0).dtype())) return uninitialized(v);
  ASSIGN_OR_RETURN(const NdIndex index, updated_slices(v, indices, updates));
  if (c.num_outputs() > 0) c.forward_output(0, c.input(0));
  if (indices.num_elements() == 0 || updates.num_elements() == 0) return ok_status();
  RETURN_IF_ERROR(own_value(c, v));
  for (int64_t t = 0; t < index.tuples; ++t) {
    const int64_t at = index.offset(t);
    if (at < 0) return invalid_argument(index.out_of_range(t, "shape "));
    const void* from = element_at(updates, t * index.slice);
    void* to = element_at(v.value, at);
    op == nullptr ? copy_elements(v.dtype, from, to, index.slice) : op(to, from, index.slice);
  }
  return ok_status();
}

template <RowOp (*kOp)(DType)>
Status change_slices_by(KernelContext& c) {
  return change_slices(c, kOp(c.input(2).dtype()));
}
Status update_slices(KernelContext& c) { return change_slices(c, nullptr); }

OpDef changing_slices(std::string_view name, std::string_view doc, DTypeSet types, KernelMaker maker) {
  return OpDef(name).doc(doc).traits({.writes_variable = true}).shape(slices_shape).kernel_attr("T").cpu(types, maker);
}

Status reference_slices_shape(ShapeContext& c) {
  RETURN_IF_ERROR(slices_shape(c));
  c.set_output(0, c.input(0));
  return ok_status();
}

OpDef changing_reference(std::string_view name, std::string_view doc, DTypeSet types, KernelMaker maker) {
  return OpDef(name)
      .doc(doc)
      .traits({.writes_variable = true})
      .shape(reference_slices_shape)
      .cpu(types, maker)
      .provides_outputs();
}

}  // namespace

OpDef scatter_nd_add_op() {
  return changing_reference("ScatterNdAdd", "ref[indices[i]] += updates[i], for tuples of indices; gives ref.",
                            kNumbers, stateless<change_slices_by<row_add>>)
      .not_differentiable();
}
OpDef scatter_nd_sub_op() {
  return changing_reference("ScatterNdSub", "ref[indices[i]] -= updates[i], for tuples of indices; gives ref.",
                            kNumbers, stateless<change_slices_by<row_subtract>>)
      .not_differentiable();
}
OpDef scatter_nd_max_op() {
  return changing_reference("ScatterNdMax", "The larger of ref[indices[i]] and updates[i]; gives ref.", kRealNumbers,
                            stateless<change_slices_by<row_maximum>>);
}
OpDef scatter_nd_min_op() {
  return changing_reference("ScatterNdMin", "The smaller of ref[indices[i]] and updates[i]; gives ref.", kRealNumbers,
                            stateless<change_slices_by<row_minimum>>);
}
OpDef scatter_nd_update_op() {
  return changing_reference("ScatterNdUpdate", "ref[indices[i]] = updates[i], for tuples of indices; gives ref.",
                            kAllData, stateless<update_slices>)
      .not_differentiable();
}

OpDef resource_scatter_nd_add_op() {
  return changing_slices("ResourceScatterNdAdd", "variable[indices[i]] += updates[i], for tuples of indices.", kNumbers,
                         stateless<change_slices_by<row_add>>);
}
OpDef resource_scatter_nd_sub_op() {
  return changing_slices("ResourceScatterNdSub", "variable[indices[i]] -= updates[i], for tuples of indices.", kNumbers,
                         stateless<change_slices_by<row_subtract>>);
}
OpDef resource_scatter_nd_max_op() {
  return changing_slices("ResourceScatterNdMax", "The larger of variable[indices[i]] and updates[i].", kRealNumbers,
                         stateless<change_slices_by<row_maximum>>);
}
OpDef resource_scatter_nd_min_op() {
  return changing_slices("ResourceScatterNdMin", "The smaller of variable[indices[i]] and updates[i].", kRealNumbers,
                         stateless<change_slices_by<row_minimum>>);
}
OpDef resource_scatter_nd_update_op() {
  return changing_slices("ResourceScatterNdUpdate", "variable[indices[i]] = updates[i], for tuples of indices.",
                         kAllData, stateless<update_slices>);
}

}  // namespace emplace
