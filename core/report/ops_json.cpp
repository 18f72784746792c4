// Part of core/report/ops_page.h: The JSON forms of `emplace ops`.
#include "core/base/json_writer.h"
#include "core/base/schema.h"
#include "core/op/attr_text.h"
#include "core/report/kernel_rows.h"
#include "core/report/op_coverage.h"
#include "core/report/ops_page.h"

namespace emplace {
namespace {

void write_types(JsonWriter& w, std::string_view key, const Coverage& c, DTypeSet set, bool any) {
  w.key(key);
  if (c.attr.empty()) {
    w.value(any);
    return;
  }
  w.begin_array().compact();
  for (DType t : in_order(set)) w.value(dtype_name(t));
  w.end_array();
}

void write_attr_value(JsonWriter& w, const AttrValue& v) {
  auto list = [&]<class T>(const std::vector<T>& values, auto write) {
    w.begin_array().compact();
    for (const T& x : values) write(x);
    w.end_array();
  };
  auto write_shape = [&](const Shape& s) {
    if (!s.rank_known()) {
      w.null();
      return;
    }
    w.begin_array().compact();
    for (int64_t d : s.dims()) w.value(d);
    w.end_array();
  };
  if (const auto* s = v.get_if<std::string>())
    w.value(*s);
  else if (const auto* i = v.get_if<int64_t>())
    w.value(*i);
  else if (const auto* f = v.get_if<float>())
    w.value(*f);
  else if (const auto* b = v.get_if<bool>())
    w.value(*b);
  else if (const auto* t = v.get_if<DType>())
    w.value(dtype_name(*t));
  else if (const auto* shape = v.get_if<Shape>())
    write_shape(*shape);
  else if (const auto* texts = v.get_if<std::vector<std::string>>())
    list(*texts, [&](const auto& x) { w.value(x); });
  else if (const auto* numbers = v.get_if<std::vector<int64_t>>())
    list(*numbers, [&](int64_t x) { w.value(x); });
  else if (const auto* floats = v.get_if<std::vector<float>>())
    list(*floats, [&](float x) { w.value(x); });
  else if (const auto* types = v.get_if<std::vector<DType>>())
    list(*types, [&](DType x) { w.value(dtype_name(x)); });
  else if (const auto* shapes = v.get_if<std::vector<Shape>>())
    list(*shapes, write_shape);
  else
    w.value(summarize_attr(v));
}

void write_args(JsonWriter& w, const OpSignature& op, std::string_view key, const std::vector<ArgSignature>& args) {
  auto name = [&](int attr) { return std::string_view(op.attrs[static_cast<size_t>(attr)].name); };
  w.key(key).begin_array();
  for (const ArgSignature& a : args) {
    w.begin_object().compact().member("name", a.name);
    if (a.type != DType::kInvalid) w.member("type", dtype_name(a.type));
    if (a.type_attr >= 0) w.member("type_attr", name(a.type_attr));
    if (a.number_attr >= 0) w.member("number_attr", name(a.number_attr));
    if (a.type_list_attr >= 0) w.member("type_list_attr", name(a.type_list_attr));
    if (a.is_ref) w.member("is_ref", true);
    w.end_object();
  }
  w.end_array();
}

void write_attrs(JsonWriter& w, const OpSignature& op) {
  w.key("attrs").begin_array();
  for (const AttrSignature& a : op.attrs) {
    w.begin_object().compact().member("name", a.name).member("type", attr_type_name(a.type));
    if (a.default_value) write_attr_value(w.key("default"), *a.default_value);
    if (a.minimum) w.member("minimum", *a.minimum);
    if (a.allowed_values) write_attr_value(w.key("allowed"), *a.allowed_values);
    w.end_object();
  }
  w.end_array();
}

void write_kernels(JsonWriter& w, const std::vector<KernelRow>& rows) {
  w.key("kernels").begin_array();
  for (const KernelRow& row : rows) {
    w.begin_object().compact().member("device_type", row.device_type);
    if (!row.label.empty()) w.member("label", row.label);
    if (row.priority != 0) w.member("priority", row.priority);
    w.key("constraints").begin_object();
    for (const auto& c : row.constraints) {
      w.key(c.attr).begin_array();
      for (const std::string& v : c.values) v.starts_with('"') ? w.raw(v) : w.value(v);
      w.end_array();
    }
    w.end_object().key("host_memory_args").begin_array();
    for (const std::string& a : row.host_memory_args) w.value(a);
    w.end_array().end_object();
  }
  w.end_array();
}

}  // namespace

std::string ops_table_json() {
  OpTable table;
  std::string out;
  JsonWriter w(out, 2);
  write_schema(w.begin_object(), Document::kOps).key("ops").begin_array();
  for (std::string_view name : OpLibrary::names()) {
    const OpDef& def = *OpLibrary::find(name);
    Coverage c = coverage(table, *table.find(name), def);
    w.begin_object().compact().member("name", name).member("doc", def.doc_text());
    write_types(w, "cpu", c, c.cpu, true);
    write_types(w, "gpu", c, c.gpu, c.on_gpu);
    w.end_object();
  }
  w.end_array().end_object();
  return out + "\n";
}

Result<std::string> ops_page_json(std::string_view name) {
  OpTable table;
  ASSIGN_OR_RETURN(const OpSignature* op, find_named_op(table, name));
  const OpDef* def = OpLibrary::find(name);
  std::string out;
  JsonWriter w(out, 2);
  write_schema(w.begin_object(), Document::kOp).member("name", op->name).member("runs", def != nullptr);
  if (def) {
    Coverage c = coverage(table, *op, *def);
    w.member("doc", def->doc_text());
    write_types(w, "cpu", c, c.cpu, true);
    write_types(w, "gpu", c, c.gpu, c.on_gpu);
  }
  w.member("is_stateful", op->is_stateful);
  if (op->deprecated_since > 0) {
    w.key("deprecation").begin_object().compact().member("version", op->deprecated_since);
    w.member("explanation", op->deprecation).end_object();
  }
  write_args(w, *op, "inputs", op->inputs);
  write_args(w, *op, "outputs", op->outputs);
  write_attrs(w, *op);
  write_kernels(w, gather_kernels(table.kernels(name)));
  w.end_object();
  return out + "\n";
}

}  // namespace emplace
