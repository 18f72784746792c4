// Part of core/ops/lookup/table_ops.h, and the ops that look into a table and change it.
#include "core/ops/lookup/table_ops.h"

#include <algorithm>
#include <span>
#include <vector>

#include "core/base/cat.h"
#include "core/op/of_run.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

std::string types_text(std::string_view handle, std::span<const DType> inputs, std::span<const DType> outputs) {
  std::string out(handle);
  for (DType t : inputs) append(out, ", ", dtype_tf_name(t));
  out += "->";
  for (size_t i = 0; i < outputs.size(); ++i) append(out, i > 0 ? ", " : "", dtype_tf_name(outputs[i]));
  return out;
}

/// Are the types of the op's inputs and outputs behind the handle the table's?
Status check_signature(std::string_view handle, std::span<const DType> inputs, std::span<const DType> outputs,
                       std::span<const DType> wanted_inputs, std::span<const DType> wanted_outputs) {
  if (std::equal(inputs.begin(), inputs.end(), wanted_inputs.begin(), wanted_inputs.end()) &&
      std::equal(outputs.begin(), outputs.end(), wanted_outputs.begin(), wanted_outputs.end()))
    return ok_status();
  return invalid_argument(cat("Signature mismatch, have: ", types_text(handle, inputs, outputs),
                              " expected: ", types_text(handle, wanted_inputs, wanted_outputs)));
}

}  // namespace

Result<Table*> table_behind(KernelContext& c, TableTypes inputs, bool gives_values) {
  ASSIGN_OR_RETURN(Table * table, step_resource<Table>(c));
  std::vector<DType> have, given, wanted, wanted_given;
  for (int i = 1; i < c.num_inputs(); ++i) have.push_back(c.input(i).dtype());
  for (int i = 0; i < c.num_outputs(); ++i) given.push_back(c.output(i).dtype());
  if (inputs != TableTypes::kNone) wanted.push_back(table->form.key_type);
  if (inputs == TableTypes::kKeysAndValues) wanted.push_back(table->form.value_type);
  if (gives_values) wanted_given.push_back(table->form.value_type);
  const std::string_view handle = c.input(0).dtype() == DType::kResource ? "resource" : "string_ref";
  RETURN_IF_ERROR(check_signature(handle, have, given, wanted, wanted_given));
  return table;
}

Status handle_input(const ShapeContext& c) {
  if (c.input_type(0) == DType::kResource) return c.with_rank(0, 0).take_status();
  ASSIGN_OR_RETURN(const Shape handle, c.with_rank(0, 1));
  return require_dim(handle.dim(0), 2).take_status();
}

namespace {

Status find_shape(ShapeContext& c) {
  RETURN_IF_ERROR(handle_input(c));
  if (c.input_type(0) != DType::kResource) return require_rank_at_most(c.input(2), 1).take_status();
  const HandleInfo* handle = c.input_handle(0);
  if (!handle) return ok_status();
  if (handle->dtype != c.output_type(0)) {
    return invalid_argument(cat("Trying to read value with wrong dtype. Expected ", dtype_tf_name(handle->dtype),
                                " got ", dtype_tf_name(c.output_type(0))));
  }
  if (!c.input(1).rank_known() || !handle->shape.rank_known()) return ok_status();
  std::vector<int64_t> dims(c.input(1).dims().begin(), c.input(1).dims().end());
  dims.insert(dims.end(), handle->shape.dims().begin(), handle->shape.dims().end());
  c.set_output(0, Shape(dims));
  return ok_status();
}

Status find_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(Table * table, table_behind(c, TableTypes::kKeysAndValues, true));
  const Tensor &keys = c.input(1), &missing = c.input(2);
  RETURN_IF_ERROR(check_key_shape(table->form, keys.shape()));
  const Shape all = shape_of_values(table->form, keys.shape()), &one = table->form.value_shape;
  if (!(missing.shape() == one) && !(missing.shape() == all)) {
    return invalid_argument(cat("Expected shape ", one.to_string(), " or ", all.to_string(), " for default value, got ",
                                missing.shape().to_string()));
  }
  RETURN_IF_ERROR(ensure_output(c, 0, all));
  std::lock_guard lock(table->mutex);
  return table->find(keys, missing, c.output(0));
}

Status size_shape(ShapeContext& c) {
  RETURN_IF_ERROR(handle_input(c));
  c.set_output(0, Shape{});
  return ok_status();
}

Status size_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(Table * table, step_resource<Table>(c));
  std::lock_guard lock(table->mutex);
  *c.out<int64_t>(0) = table->size();
  return ok_status();
}

Status insert_shape(ShapeContext& c) { return handle_input(c); }

Status import_shape(ShapeContext& c) {
  RETURN_IF_ERROR(handle_input(c));
  if (is_of_run(c)) return ok_status();  // buckets' keys have rank 2, which TensorFlow only knows of in a run
  ASSIGN_OR_RETURN(const Shape keys, c.with_rank(1, 1));
  if (!c.input(2).rank_known()) return ok_status();
  return ShapeContext::merge_dim(keys.dim(0), dim_or_unknown(c.input(2), 0)).take_status();
}

Status insert_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(Table * table, table_behind(c, TableTypes::kKeysAndValues));
  if (!table->form.is_mutable) return unimplemented("Insert not supported by InitializableLookupTable implementations");
  const Shape& keys = c.input(1).shape();
  RETURN_IF_ERROR(check_key_shape(table->form, keys));
  RETURN_IF_ERROR(check_value_shape(shape_of_values(table->form, keys), c.input(2).shape()));
  std::lock_guard lock(table->mutex);
  return table->insert(c.input(1), c.input(2));
}

Status remove_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(Table * table, table_behind(c, TableTypes::kKeys));
  if (!table->form.is_mutable) return unimplemented("Remove not supported by InitializableLookupTable implementations");
  RETURN_IF_ERROR(check_key_shape(table->form, c.input(1).shape()));
  std::lock_guard lock(table->mutex);
  return table->remove(c.input(1));
}

Status import_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(Table * table, table_behind(c, TableTypes::kKeysAndValues));
  RETURN_IF_ERROR(table->check_import(c.input(1).shape(), c.input(2).shape()));
  std::lock_guard lock(table->mutex);
  return table->import(c.input(1), c.input(2));
}

Status export_shape(ShapeContext& c) {
  RETURN_IF_ERROR(handle_input(c));
  c.set_output(0, Shape::unknown());
  c.set_output(1, Shape::unknown());
  return ok_status();
}

Status export_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(Table * table, step_resource<Table>(c));
  std::lock_guard lock(table->mutex);
  const DType keys = c.output(0).dtype(), values = c.output(1).dtype();
  const TableForm& form = table->form;
  if (keys != form.key_type || values != form.value_type) {
    return invalid_argument(cat("table ", table->name, " holds ", dtype_tf_name(form.key_type), " and ",
                                dtype_tf_name(form.value_type), ", not ", dtype_tf_name(keys), " and ",
                                dtype_tf_name(values)));
  }
  if (!table->filled()) return Status(Code::kAborted, "HashTable is not initialized.");
  const auto [all_keys, all_values] = table->export_shapes();
  RETURN_IF_ERROR(ensure_output(c, 0, all_keys));
  RETURN_IF_ERROR(ensure_output(c, 1, all_values));
  table->copy_to(c.output(0), c.output(1));
  return ok_status();
}

OpDef find_node(std::string_view name) {
  return OpDef(name)
      .doc("The value of each key in the table; what is not there gets the default.")
      .traits({.leaves_state = true})
      .shape(find_shape)
      .cpu(stateless<find_cpu>)
      .not_differentiable();
}

OpDef size_node(std::string_view name) {
  return OpDef(name)
      .doc("How many keys the table has.")
      .traits({.leaves_state = true})
      .shape(size_shape)
      .cpu(stateless<size_cpu>)
      .not_differentiable();
}

OpDef insert_node(std::string_view name) {
  return OpDef(name)
      .doc("Gives keys of a table that may change their values.")
      .shape(insert_shape)
      .cpu(stateless<insert_cpu>)
      .not_differentiable();
}

OpDef import_node(std::string_view name) {
  return OpDef(name)
      .doc("Makes these keys and values all that the table has.")
      .shape(import_shape)
      .cpu(stateless<import_cpu>);
}

OpDef export_node(std::string_view name) {
  return OpDef(name)
      .doc("All keys and values of the table: in the order of the keys, or of its buckets, where it has some.")
      .traits({.leaves_state = true})
      .shape(export_shape)
      .kernel_attr("Tkeys")
      .cpu(stateless<export_cpu>);
}

}  // namespace

OpDef lookup_table_find_op() { return find_node("LookupTableFind"); }
OpDef lookup_table_find_v2_op() { return find_node("LookupTableFindV2"); }
OpDef lookup_table_size_op() { return size_node("LookupTableSize"); }
OpDef lookup_table_size_v2_op() { return size_node("LookupTableSizeV2"); }
OpDef lookup_table_insert_op() { return insert_node("LookupTableInsert"); }
OpDef lookup_table_insert_v2_op() { return insert_node("LookupTableInsertV2"); }
OpDef lookup_table_remove_v2_op() {
  return OpDef("LookupTableRemoveV2")
      .doc("Takes keys out of a table that may change.")
      .shape(insert_shape)
      .cpu(stateless<remove_cpu>);
}
OpDef lookup_table_import_op() { return import_node("LookupTableImport"); }
OpDef lookup_table_import_v2_op() { return import_node("LookupTableImportV2"); }
OpDef lookup_table_export_op() { return export_node("LookupTableExport"); }
OpDef lookup_table_export_v2_op() { return export_node("LookupTableExportV2"); }

}  // namespace emplace
