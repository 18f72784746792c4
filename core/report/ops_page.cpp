#include "core/report/ops_page.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/base/columns.h"
#include "core/base/printable.h"
#include "core/base/suggest.h"
#include "core/op/attr_text.h"
#include "core/op/op_def.h"
#include "core/op/op_table.h"
#include "core/report/kernel_rows.h"
#include "core/report/op_coverage.h"

namespace emplace {
namespace {

// f32, i64, ...: short enough for a table; empty for the types that few ops are used with.
std::string_view short_name(DType t) {
  switch (t) {
    case DType::kHalf:
      return "f16";
    case DType::kFloat:
      return "f32";
    case DType::kDouble:
      return "f64";
    case DType::kBFloat16:
      return "bf16";
    case DType::kInt8:
      return "i8";
    case DType::kInt16:
      return "i16";
    case DType::kInt32:
      return "i32";
    case DType::kInt64:
      return "i64";
    case DType::kUInt8:
      return "u8";
    case DType::kUInt16:
      return "u16";
    case DType::kUInt32:
      return "u32";
    case DType::kUInt64:
      return "u64";
    case DType::kComplex64:
      return "c64";
    case DType::kComplex128:
      return "c128";
    case DType::kString:
      return "str";
    case DType::kBool:
      return "bool";
    default:
      return {};
  }
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const std::string& p : parts) append(out, out.empty() ? "" : separator, p);
  return out;
}

std::string types_text(const Coverage& c, DTypeSet set, bool any) {
  if (c.attr.empty()) return any ? "yes" : "-";
  std::string out;
  int others = 0;
  for (DType t : in_order(set)) {
    if (std::string_view name = short_name(t); !name.empty()) {
      append(out, out.empty() ? "" : " ", name);
    } else {
      ++others;
    }
  }
  if (others > 0) append(out, " +", others);
  return out.empty() ? "-" : out;
}

std::string full_types_text(const Coverage& c, DTypeSet set, bool any) {
  if (c.attr.empty()) return any ? "yes" : "no";
  std::string out;
  for (DType t : in_order(set)) append(out, out.empty() ? cat(c.attr, ": ") : std::string(" "), dtype_name(t));
  return out.empty() ? "no" : out;
}

std::string arg_type_text(const OpSignature& op, const ArgSignature& a) {
  auto name = [&](int attr) { return std::string_view(op.attrs[static_cast<size_t>(attr)].name); };
  std::string out = a.is_ref ? "reference to " : "";
  if (a.number_attr >= 0) append(out, name(a.number_attr), " x ");
  if (a.type_attr >= 0) out += name(a.type_attr);
  if (a.type_list_attr >= 0) append(out, "one of each of ", name(a.type_list_attr));
  if (a.type != DType::kInvalid) out += dtype_name(a.type);
  return out;
}

void add_args(std::string& out, const OpSignature& op, std::string_view title, const std::vector<ArgSignature>& args) {
  if (args.empty()) return;
  size_t width = 0;
  for (const ArgSignature& a : args) width = std::max(width, a.name.size());
  append(out, "\n", title, "\n");
  for (const ArgSignature& a : args) {
    append(out, "  ", a.name, std::string(width + 2 - a.name.size(), ' '), arg_type_text(op, a), "\n");
  }
}

std::string value_text(const AttrValue& v) {
  if (const DType* t = v.get_if<DType>()) return std::string(dtype_name(*t));
  if (const auto* types = v.get_if<std::vector<DType>>()) {
    std::string out;
    for (DType t : *types) append(out, out.empty() ? "" : " ", dtype_name(t));
    return out;
  }
  return summarize_attr(v);
}

std::string attr_rules(const AttrSignature& a) {
  std::vector<std::string> rules;
  if (a.default_value) {
    std::string text = value_text(*a.default_value);
    rules.push_back(cat("default ", text.empty() ? "[]" : text));
  }
  if (a.minimum) rules.push_back(cat(a.type.list ? "length at least " : "at least ", *a.minimum));
  if (a.allowed_values) rules.push_back(cat("one of ", value_text(*a.allowed_values)));
  return joined(rules, "; ");
}

void add_attrs(std::string& out, const OpSignature& op) {
  if (op.attrs.empty()) return;
  size_t width = 0, type_width = 0;
  for (const AttrSignature& a : op.attrs) {
    width = std::max(width, a.name.size());
    type_width = std::max(type_width, attr_type_name(a.type).size());
  }
  out += "\nattrs\n";
  for (const AttrSignature& a : op.attrs) {
    std::string type = attr_type_name(a.type), rules = attr_rules(a);
    append(out, "  ", a.name, std::string(width + 2 - a.name.size(), ' '), type);
    if (!rules.empty()) append(out, std::string(type_width + 2 - type.size(), ' '), rules);
    out += '\n';
  }
}

void add_kernels(std::string& out, const std::vector<KernelRow>& rows) {
  if (rows.empty()) {
    out += "\nkernels: none in TensorFlow's registry\n";
    return;
  }
  out += "\nkernels in TensorFlow's registry (placement goes by them)\n";
  for (const KernelRow& row : rows) {
    append(out, "  ", row.device_type, std::string(row.device_type.size() < 9 ? 9 - row.device_type.size() : 1, ' '));
    std::vector<std::string> parts;
    for (const auto& c : row.constraints) parts.push_back(cat(c.attr, ": ", joined(c.values, " ")));
    if (!row.host_memory_args.empty()) parts.push_back(cat("in host memory: ", joined(row.host_memory_args, " ")));
    if (!row.label.empty()) parts.push_back(cat("label ", row.label));
    if (row.priority != 0) parts.push_back(cat("priority ", row.priority));
    append(out, parts.empty() ? "any attrs" : joined(parts, "; "), "\n");
  }
}

void add_notes(std::string& out, const OpSignature& op) {
  if (op.is_stateful) out += "It has state: it is run in every step, whatever its inputs are.\n";
  if (op.deprecated_since > 0) {
    append(out, "Gone from GraphDef version ", op.deprecated_since, " on: ", op.deprecation, "\n");
  }
}

}  // namespace

Result<const OpSignature*> find_named_op(OpTable& table, std::string_view name) {
  if (const OpSignature* op = table.find(name)) return op;
  Suggestion near(name);
  for (std::string_view known : table.names()) near.offer(known);
  std::string hint = near.text();
  return not_found(
      cat("unknown op '", printable(name), "'; ", hint.empty() ? "'emplace ops' lists those that emplace runs" : hint));
}

std::string ops_table_text(size_t line_width) {
  OpTable table;
  const auto names = OpLibrary::names();
  std::vector<std::vector<std::string>> lines;
  Columns columns({"OP", "CPU", "GPU"}, line_width);
  for (std::string_view name : names) {
    Coverage c = coverage(table, *table.find(name), *OpLibrary::find(name));
    std::vector<std::string> cells = {std::string(name), types_text(c, c.cpu, true), types_text(c, c.gpu, c.on_gpu)};
    if (cells[2] == cells[1] && !c.attr.empty()) cells[2] = "same";
    constexpr size_t kWidest = 72;  // longer cells stand out rather than push all others to the right
    columns.see(0, cells[0]);
    if (cells[1].size() <= kWidest) columns.see(1, cells[1]);
    lines.push_back(std::move(cells));
  }
  std::string out;
  columns.add_header(out);
  for (const auto& cells : lines) columns.add(out, cells);
  append(
      out, names.size(), " ops run here; ", table.names().size(),
      " can be placed (emplace ops OP shows each). Simulated GPUs run what GPU says, with the CPU's code. +N: N less\n"
      "common types (quantized, float8, resource, ...).\n");
  return out;
}

Result<std::string> ops_page_text(std::string_view name) {
  OpTable table;
  ASSIGN_OR_RETURN(const OpSignature* op, find_named_op(table, name));
  const OpDef* def = OpLibrary::find(name);
  std::string out = cat(op->name, "\n");
  if (def) {
    Coverage c = coverage(table, *op, *def);
    append(out, def->doc_text(), "\n\nemplace runs it\n  CPU  ", full_types_text(c, c.cpu, true), "\n  GPU  ",
           full_types_text(c, c.gpu, c.on_gpu), "\n");
  } else {
    out += "emplace can place it, not run it\n";
  }
  add_notes(out, *op);
  add_args(out, *op, "inputs", op->inputs);
  add_args(out, *op, "outputs", op->outputs);
  add_attrs(out, *op);
  add_kernels(out, gather_kernels(table.kernels(name)));
  return out;
}

}  // namespace emplace
