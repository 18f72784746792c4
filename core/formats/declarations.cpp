#include "core/formats/declarations.h"

#include "core/base/cat.h"
#include "core/base/printable.h"
#include "core/formats/attr_reader.h"
#include "core/formats/object_reader.h"
#include "core/formats/value_reader.h"

namespace emplace {
namespace {

using Kind = JsonReader::Kind;

// An ArgDef, with the attrs it names still as names: they may be declared after it.
struct WrittenArg {
  ArgSignature arg;
  std::string_view type_attr, number_attr, type_list_attr;
  size_t position = 0;
};

WrittenArg read_arg(LoadContext& c) {
  enum { kName, kDescription, kType, kTypeAttr, kNumberAttr, kTypeListAttr, kHandleData, kIsRef, kFullType };
  static constexpr std::string_view kKeys[] = {"name",        "description", "type",
                                               "type_attr",   "number_attr", "type_list_attr",
                                               "handle_data", "is_ref",      "experimental_full_type"};
  WrittenArg out;
  ObjectReader object(c.reader, kKeys, "an argument");
  out.position = object.position();
  while (object.next()) {
    switch (object.field()) {
      case kName:
        out.arg.name = read_text(c.reader, "name").value_or("");
        break;
      case kType:
        out.arg.type = read_dtype(c.reader, "type").value_or(DType::kInvalid);
        break;
      case kTypeAttr:
        out.type_attr = read_text(c.reader, "type_attr").value_or("");
        break;
      case kNumberAttr:
        out.number_attr = read_text(c.reader, "number_attr").value_or("");
        break;
      case kTypeListAttr:
        out.type_list_attr = read_text(c.reader, "type_list_attr").value_or("");
        break;
      case kIsRef:
        out.arg.is_ref = read_bool(c.reader, "is_ref").value_or(false);
        break;
      default:
        break;
    }
  }
  return out;
}

std::vector<WrittenArg> read_args(LoadContext& c, std::string_view what) {
  std::vector<WrittenArg> out;
  if (!expect(c.reader, Kind::kArray, what)) return out;
  for (c.reader.enter_array(); c.reader.next_element();) out.push_back(read_arg(c));
  return out;
}

std::optional<AttrSignature> read_attr_def(LoadContext& c) {
  enum { kName, kType, kDefault, kDescription, kHasMinimum, kMinimum, kAllowed };
  static constexpr std::string_view kKeys[] = {"name",        "type",    "default_value", "description",
                                               "has_minimum", "minimum", "allowed_values"};
  AttrSignature out;
  std::optional<AttrType> type;
  std::optional<size_t> default_at, allowed_at;
  bool has_minimum = false;
  int64_t minimum = 0;
  ObjectReader object(c.reader, kKeys, "an attr");
  size_t at = object.position();
  while (object.next()) {
    switch (object.field()) {
      case kName:
        out.name = read_text(c.reader, "name").value_or("");
        break;
      case kType:
        type = parse_attr_type(read_text(c.reader, "type").value_or(""));
        break;
      case kDefault:
        default_at = c.reader.position();
        break;
      case kHasMinimum:
        has_minimum = read_bool(c.reader, "has_minimum").value_or(false);
        break;
      case kMinimum:
        minimum = read_integer(c.reader, "minimum").value_or(0);
        break;
      case kAllowed:
        allowed_at = c.reader.position();
        break;
      default:
        break;
    }
  }
  if (c.reader.failed()) return std::nullopt;
  if (out.name.empty() || !type) {
    c.reader.problem(
        at,
        out.name.empty() ? std::string("an attr without a name") : cat("attr '", out.name, "' without a known type"),
        "types are string, int, float, bool, type, shape, tensor, func and list(...) of them");
    return std::nullopt;
  }
  out.type = *type;
  if (has_minimum || minimum != 0) out.minimum = minimum;
  size_t after = c.reader.position();
  if (default_at) {
    c.reader.seek(*default_at);
    out.default_value = read_attr(c, out.name, *type);
  }
  if (allowed_at) {
    c.reader.seek(*allowed_at);
    out.allowed_values = read_attr(c, out.name, {type->kind, true});
  }
  c.reader.seek(after);
  return out;
}

int attr_index(LoadContext& c, const OpSignature& op, std::string_view name, size_t position) {
  if (name.empty()) return -1;
  int index = op.find_attr(name);
  if (index < 0)
    c.reader.problem(position,
                     cat("an argument of op '", op.name, "' names attr '", name, "', which the op does not have"));
  return index;
}

std::vector<ArgSignature> resolve(LoadContext& c, const OpSignature& op, const std::vector<WrittenArg>& args) {
  std::vector<ArgSignature> out;
  for (const WrittenArg& written : args) {
    ArgSignature arg = written.arg;
    arg.type_attr = attr_index(c, op, written.type_attr, written.position);
    arg.number_attr = attr_index(c, op, written.number_attr, written.position);
    arg.type_list_attr = attr_index(c, op, written.type_list_attr, written.position);
    int said = (arg.type != DType::kInvalid) + !written.type_attr.empty() + !written.type_list_attr.empty();
    if (said != 1) {
      c.reader.problem(written.position, cat("argument '", arg.name, "' of op '", op.name,
                                             "' needs one of type, type_attr and type_list_attr"));
    }
    out.push_back(std::move(arg));
  }
  return out;
}

KernelConstraint read_constraint(LoadContext& c) {
  static constexpr std::string_view kKeys[] = {"name", "allowed_values"};
  KernelConstraint constraint;
  for (ObjectReader entry(c.reader, kKeys, "a constraint"); entry.next();) {
    if (entry.field() == 0) {
      constraint.attr = read_text(c.reader, "name").value_or("");
    } else if (auto values = read_attr(c, "allowed_values", {AttrKind::kType, true})) {
      constraint.allowed_values = std::move(*values);
    }
  }
  return constraint;
}

void read_kernel_def(LoadContext& c) {
  enum { kOp, kDeviceType, kConstraint, kHostMemory, kLabel, kPriority };
  static constexpr std::string_view kKeys[] = {"op",    "device_type", "constraint", "host_memory_arg",
                                               "label", "priority"};
  KernelSignature kernel;
  std::string_view op;
  ObjectReader object(c.reader, kKeys, "a kernel");
  int64_t problems = c.problems.count();
  while (object.next()) {
    switch (object.field()) {
      case kOp:
        op = read_text(c.reader, "op").value_or("");
        break;
      case kDeviceType:
        kernel.device_type = read_text(c.reader, "device_type").value_or("");
        break;
      case kConstraint:
        if (!expect(c.reader, Kind::kArray, "constraint")) break;
        for (c.reader.enter_array(); c.reader.next_element();) kernel.constraints.push_back(read_constraint(c));
        break;
      case kHostMemory:
        if (!expect(c.reader, Kind::kArray, "host_memory_arg")) break;
        for (c.reader.enter_array(); c.reader.next_element();) {
          if (auto arg = read_text(c.reader, "host_memory_arg")) kernel.host_memory_args.emplace_back(*arg);
        }
        break;
      case kLabel:
        kernel.label = read_text(c.reader, "label").value_or("");
        break;
      case kPriority:
        kernel.priority = static_cast<int>(read_integer(c.reader, "priority", INT32_MIN, INT32_MAX).value_or(0));
        break;
      default:
        break;
    }
  }
  if (c.reader.failed()) return;
  if (op.empty() || kernel.device_type.empty())
    c.reader.problem(object.position(), "a kernel needs op and device_type");
  if (c.problems.count() != problems) return;
  c.kernel_ops.push_back({std::string(op), static_cast<int64_t>(object.position())});
  c.file.ops->declare_kernel(op, std::move(kernel));
}

}  // namespace

std::optional<OpSignature> read_op_def(LoadContext& c) {
  enum { kName, kInputArg, kOutputArg, kAttr, kStateful, kAggregate, kCommutative, kUninitialized };
  static constexpr std::string_view kKeys[] = {"name",
                                               "input_arg",
                                               "output_arg",
                                               "attr",
                                               "is_stateful",
                                               "is_aggregate",
                                               "is_commutative",
                                               "allows_uninitialized_input",
                                               "control_output",
                                               "deprecation",
                                               "summary",
                                               "description",
                                               "is_distributed_communication"};
  OpSignature op;
  std::vector<WrittenArg> inputs, outputs;
  ObjectReader object(c.reader, kKeys, "an op");
  int64_t problems = c.problems.count();
  while (object.next()) {
    switch (object.field()) {
      case kName:
        op.name = read_text(c.reader, "name").value_or("");
        break;
      case kInputArg:
        inputs = read_args(c, "input_arg");
        break;
      case kOutputArg:
        outputs = read_args(c, "output_arg");
        break;
      case kAttr:
        if (!expect(c.reader, Kind::kArray, "attr")) break;
        for (c.reader.enter_array(); c.reader.next_element();) {
          if (auto attr = read_attr_def(c)) op.attrs.push_back(std::move(*attr));
        }
        break;
      case kStateful:
        op.is_stateful = read_bool(c.reader, "is_stateful").value_or(false);
        break;
      case kAggregate:
        op.is_aggregate = read_bool(c.reader, "is_aggregate").value_or(false);
        break;
      case kCommutative:
        op.is_commutative = read_bool(c.reader, "is_commutative").value_or(false);
        break;
      case kUninitialized:
        op.allows_uninitialized_input = read_bool(c.reader, "allows_uninitialized_input").value_or(false);
        break;
      default:
        break;
    }
  }
  if (op.name.empty() && !c.reader.failed()) c.reader.problem(object.position(), "an op without a name");
  if (printable(op.name) != op.name)
    c.reader.problem(object.position(), cat("op name '", op.name, "' has a character that names cannot have"));
  op.inputs = resolve(c, op, inputs);
  op.outputs = resolve(c, op, outputs);
  if (c.problems.count() != problems) return std::nullopt;
  return op;
}

void read_op_defs(LoadContext& c) {
  if (!expect(c.reader, Kind::kArray, "op_def")) return;
  for (c.reader.enter_array(); c.reader.next_element();) {
    size_t at = c.reader.position();
    auto op = read_op_def(c);
    if (!op) continue;
    Status status = c.file.ops->declare(std::move(*op));
    if (!status.ok()) c.reader.problem(at, status.message());
  }
}

void read_kernel_defs(LoadContext& c) {
  if (!expect(c.reader, Kind::kArray, "kernel_def")) return;
  for (c.reader.enter_array(); c.reader.next_element();) read_kernel_def(c);
}

}  // namespace emplace
