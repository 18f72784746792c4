// ScatterAdd, ScatterSub, ScatterUpdate and the Resource forms: rows of a variable changed in place.
#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/index_text.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/state/variable_state.h"

namespace emplace {
namespace {

Status scatter_rows_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape row, subshape(c.input(0), 1));
  const Shape& updates = c.input(2);
  if (!updates.rank_known() || updates.rank() > 0) {
    RETURN_IF_ERROR(ShapeContext::merge(concat_shapes(c.input(1), row), updates).take_status());
  }
  c.set_output(0, c.input(0));
  return ok_status();
}

Status resource_scatter_shape(ShapeContext& c) {
  const HandleInfo* handle = c.input_handle(0);
  ASSIGN_OR_RETURN(Shape row, subshape(handle ? handle->shape : Shape::unknown(), 1));
  const Shape& updates = c.input(2);
  if (updates.rank_known() && updates.rank() == 0) return ok_status();
  return ShapeContext::merge(concat_shapes(c.input(1), row), updates).take_status();
}

// `op` null: assign. A scalar update stands for every element.
Status scatter_rows(KernelContext& c, RowOp op) {
  Variable& v = c.variable(0);
  const Tensor& indices = c.input(1);
  const Tensor& updates = c.input(2);
  std::lock_guard lock(v.mutex);
  if (!v.value.valid()) return is_ref(c.input(0).dtype()) ? uninitialized(v) : no_such_variable(v);
  if (v.dtype != updates.dtype()) return updates_of_other_type(v, updates.dtype());
  const Shape shape = v.value.shape();
  if (shape.rank() < 1) return invalid_argument("params must be at least 1-D, got shape []");
  Shape wanted = indices.shape();
  for (int i = 1; i < shape.rank(); ++i) wanted.add_dim(shape.dim(i));
  bool scalar = updates.shape().rank() == 0;
  if (!scalar && !(updates.shape() == wanted)) {
    return invalid_argument(
        cat("Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got ", "updates.shape ",
            updates.shape().to_string(), ", indices.shape ", indices.shape().to_string(), ", params.shape ",
            shape.to_string()));
  }
  RETURN_IF_ERROR(own_value(c, v));
  Tensor& value = v.value;
  int64_t row = shape.dim(0) > 0 ? value.num_elements() / shape.dim(0) : 0;
  for (int64_t i = 0; i < indices.num_elements(); ++i) {
    int64_t at = int_at(indices, i);
    if (at < 0 || at >= shape.dim(0)) {
      return invalid_argument(cat("indices", place_text(indices.shape(), indices.shape().rank(), i), " = ", at,
                                  " is not in [0, ", shape.dim(0), ")"));
    }
    for (int64_t k = 0; k < (scalar ? row : 1); ++k) {
      void* to = element_at(value, at * row + k);
      const void* from = scalar ? updates.raw() : element_at(updates, i * row);
      int64_t n = scalar ? 1 : row;
      op == nullptr ? copy_elements(value.dtype(), from, to, n) : op(to, from, n);
    }
  }
  if (c.num_outputs() > 0) c.forward_output(0, c.input(0));
  return ok_status();
}

Status scatter_add_cpu(KernelContext& c) { return scatter_rows(c, row_add(c.input(2).dtype())); }
Status scatter_sub_cpu(KernelContext& c) { return scatter_rows(c, row_subtract(c.input(2).dtype())); }
Status scatter_update_cpu(KernelContext& c) { return scatter_rows(c, nullptr); }

OpDef scattering(std::string_view name, std::string_view doc, DTypeSet types, KernelMaker maker) {
  return OpDef(name)
      .doc(doc)
      .traits({.writes_variable = true})
      .shape(scatter_rows_shape)
      .cpu(types, maker)
      .provides_outputs();
}

OpDef resource_scattering(std::string_view name, std::string_view doc, DTypeSet types, KernelMaker maker) {
  return OpDef(name)
      .doc(doc)
      .traits({.writes_variable = true})
      .shape(resource_scatter_shape)
      .kernel_attr("dtype")
      .cpu(types, maker);
}

}  // namespace

OpDef scatter_add_op() {
  return scattering("ScatterAdd", "ref[indices[i]] += updates[i]; gives ref.", kNumbers, stateless<scatter_add_cpu>)
      .not_differentiable();
}
OpDef scatter_sub_op() {
  return scattering("ScatterSub", "ref[indices[i]] -= updates[i]; gives ref.", kNumbers, stateless<scatter_sub_cpu>)
      .not_differentiable();
}
OpDef scatter_update_op() {
  return scattering("ScatterUpdate", "ref[indices[i]] = updates[i]; gives ref.", kMovable,
                    stateless<scatter_update_cpu>);
}

OpDef resource_scatter_add_op() {
  return resource_scattering("ResourceScatterAdd", "variable[indices[i]] += updates[i].", kNumbers,
                             stateless<scatter_add_cpu>);
}
OpDef resource_scatter_sub_op() {
  return resource_scattering("ResourceScatterSub", "variable[indices[i]] -= updates[i].", kNumbers,
                             stateless<scatter_sub_cpu>);
}
OpDef resource_scatter_update_op() {
  return resource_scattering("ResourceScatterUpdate", "variable[indices[i]] = updates[i].", kAllData,
                             stateless<scatter_update_cpu>);
}

}  // namespace emplace
