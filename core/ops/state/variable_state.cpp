#include "core/ops/state/variable_state.h"

#include "core/base/cat.h"
#include "core/ops/kit/element.h"
#include "core/tensor/texts.h"

namespace emplace {
namespace {

/// Is this the only owner of the buffer? Then the accesses of former owners happened before: reading use_count() alone
/// does not synchronise with them, but releasing a reference does.
bool owned(const Variable& v) {
  auto mine = v.value.buffer();
  if (mine == nullptr || mine.use_count() != 2) return false;
  mine.reset();
  return true;
}

}  // namespace

Status store_value(KernelContext& c, Variable& variable, const Tensor& value) {
  bool fits = variable.value.valid() && owned(variable) && variable.value.shape() == value.shape();
  if (!fits) {
    ASSIGN_OR_RETURN(variable.value, c.allocate_persistent(variable.dtype, value.shape()));
  }
  copy_elements(*c.parallel_, value.dtype(), value.raw(), variable.value.raw(), value.num_elements());
  return value.dtype() == DType::kString ? texts_changed(variable.value) : ok_status();
}

Status own_value(KernelContext& c, Variable& variable) {
  if (owned(variable)) return ok_status();
  Tensor shared = variable.value;
  ASSIGN_OR_RETURN(variable.value, c.allocate_persistent(variable.dtype, shared.shape()));
  copy_elements(*c.parallel_, shared.dtype(), shared.raw(), variable.value.raw(), shared.num_elements());
  return ok_status();
}

Status update_value(KernelContext& c, Variable& variable, const Tensor& value, RowOp op) {
  RETURN_IF_ERROR(own_value(c, variable));
  Tensor target = variable.value;
  c.parallel_for(value.num_elements(), 0.5, [&](int64_t begin, int64_t end) {
    op(element_at(target, begin), element_at(value, begin), end - begin);
  });
  return value.dtype() == DType::kString ? texts_changed(target) : ok_status();
}

Result<Variable*> find_variable(const KernelInit& init) {
  const std::string& shared = init.attrs.text("shared_name");
  DType dtype = init.attrs.type("dtype");
  std::string name = shared.empty() ? std::string(init.node_name) : shared;
  Variable& found =
      init.variables->find_or_create(init.attrs.text("container"), name, dtype, init.attrs.shape("shape"));
  if (found.dtype != dtype) {
    return invalid_argument(cat("Variable ", name, " holds ", dtype_tf_name(found.dtype), ", but node ", init.node_name,
                                " wants ", dtype_tf_name(dtype)));
  }
  return &found;
}

Status uninitialized(const Variable& v) {
  return failed_precondition(cat("Attempting to use uninitialized value ", v.name));
}

Status no_such_variable(const Variable& v) {
  return failed_precondition(cat(
      "Could not find variable ", v.name, ". This could mean that the variable has been deleted. ",
      "In TF1, it can also mean the variable is uninitialized. Debug info: container=localhost, ",
      "status error message=Container localhost does not exist. (Could not find resource: localhost/", v.name, ")"));
}

Status wrong_type(const Variable& v, std::string_view verb, DType got) {
  return invalid_argument(cat("Trying to ", verb, " variable with wrong dtype. Expected ", dtype_tf_name(v.dtype),
                              " got ", dtype_tf_name(got)));
}

Status updates_of_other_type(const Variable& v, DType updates) {
  return invalid_argument(
      cat("Trying to update variable ", v.name, " of type ", dtype_tf_name(v.dtype), " with ", dtype_tf_name(updates)));
}

Result<NdIndex> updated_slices(const Variable& v, const Tensor& indices, const Tensor& updates) {
  if (!v.value.valid()) return no_such_variable(v);
  if (v.dtype != updates.dtype()) return updates_of_other_type(v, updates.dtype());
  const Shape shape = v.value.shape();
  ASSIGN_OR_RETURN(const NdIndex index, NdIndex::of_scatter(indices, shape));
  Shape wanted = index.outer;
  for (int i = index.depth; i < shape.rank(); ++i) wanted.add_dim(shape.dim(i));
  if (!(updates.shape() == wanted)) {
    return invalid_argument(cat("Outer dimensions of indices and update must match. Indices shape: ",
                                indices.shape().to_string(), ", updates shape:", updates.shape().to_string()));
  }
  return index;
}

Result<Tensor> value_behind_handle(Variable& v, DType type) {
  std::lock_guard lock(v.mutex);
  if (!v.value.valid()) return no_such_variable(v);
  if (v.dtype != type) return wrong_type(v, "read", type);
  return v.value;
}

}  // namespace emplace
