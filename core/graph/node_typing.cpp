#include "core/graph/node_typing.h"

#include <algorithm>
#include <limits>

#include "core/base/cat.h"
#include "core/base/suggest.h"
#include "core/graph/attr_check.h"
#include "core/op/attr_text.h"
#include "core/op/trait_table.h"

namespace emplace {
namespace {

// More outputs than any real node has; a number in an attr must not exhaust memory.
constexpr int64_t kMaxOutputs = 1 << 20;

std::string arg_text(const OpSignature& op, const ArgSignature& a) {
  auto name = [&](int attr) { return std::string_view(op.attrs[static_cast<size_t>(attr)].name); };
  std::string out = cat(a.name, ":");
  if (a.number_attr >= 0) append(out, name(a.number_attr), "*");
  if (a.type_attr >= 0) out += name(a.type_attr);
  if (a.type_list_attr >= 0) append(out, name(a.type_list_attr), "...");
  if (a.type != DType::kInvalid) out += dtype_tf_name(a.type);
  return a.is_ref ? cat("ref ", out) : out;
}

std::string args_text(const OpSignature& op, const std::vector<ArgSignature>& args) {
  std::string out;
  for (const ArgSignature& a : args) append(out, out.empty() ? "" : ", ", arg_text(op, a));
  return out;
}

}  // namespace

std::string signature_text(const OpSignature& op) {
  return cat(op.name, "(", args_text(op, op.inputs), ") -> (", args_text(op, op.outputs), ")");
}

const AttrValue* InferredAttrs::keep(AttrValue value) {
  graph_.attr_values_.push_back(std::move(value));
  return &graph_.attr_values_.back();
}

const AttrValue* InferredAttrs::of(DType type) {
  const AttrValue*& slot = types_[static_cast<size_t>(type)];
  if (!slot) slot = keep(AttrValue::of(type));
  return slot;
}

const AttrValue* InferredAttrs::of(int64_t number) {
  const AttrValue*& slot = numbers_[number];
  if (!slot) slot = keep(AttrValue::of(number));
  return slot;
}

const AttrValue* InferredAttrs::of(std::vector<DType> types) {
  return keep(AttrValue::list_of(AttrKind::kType, std::move(types)));
}

void TypeBuilder::start(const OpSignature& op, std::span<const Attrs::Entry> written, std::span<const DType> actual) {
  op_ = &op;
  written_ = written;
  actual_ = actual;
  values_.assign(op.attrs.size(), nullptr);
  is_written_.assign(op.attrs.size(), false);
  list_lengths_.assign(op.attrs.size(), -1);
  input_args_.clear();
  problems_.clear();
  unknown_attrs_.clear();
  attrs_as_written_ = true;
  unknown_ = false;
}

const AttrValue* TypeBuilder::effective(int attr) const {
  auto i = static_cast<size_t>(attr);
  if (values_[i]) return values_[i];
  return op_->attrs[i].default_value ? &*op_->attrs[i].default_value : nullptr;
}

int TypeBuilder::count_attr(const ArgSignature& arg) const {
  return arg.number_attr >= 0 ? arg.number_attr : arg.type_list_attr;
}

// How many tensors the argument takes, -1 if that is not known (yet).
int64_t TypeBuilder::arg_length(const ArgSignature& arg) const {
  int attr = count_attr(arg);
  if (attr < 0) return 1;
  if (int64_t length = list_lengths_[static_cast<size_t>(attr)]; length >= 0) return length;
  const AttrValue* value = effective(attr);
  if (!value) return -1;
  if (const int64_t* n = value->get_if<int64_t>()) return *n;
  if (const auto* types = value->get_if<std::vector<DType>>()) return static_cast<int64_t>(types->size());
  return value->type() == AttrType{AttrKind::kNone, true} ? 0 : -1;
}

void TypeBuilder::match_attrs() {
  for (const auto& [name, value] : written_) {
    int at = op_->find_attr(name);
    if (at >= 0) {
      const AttrSignature& attr = op_->attrs[static_cast<size_t>(at)];
      if (std::string problem = attr_mismatch(attr, *value); !problem.empty())
        add(std::move(problem), attr_hint(attr, *value), name);
      values_[static_cast<size_t>(at)] = value;
      is_written_[static_cast<size_t>(at)] = true;
    } else if (!name.starts_with('_')) {
      Suggestion near(name);
      for (const AttrSignature& a : op_->attrs) near.offer(a.name);
      unknown_attrs_.push_back({cat(op_->name, " has no attr '", name, "': ignored"), near.text(), name});
    }
  }
  check_lengths();
}

// The length of a sequence is never negative, whether or not the op states a minimum.
void TypeBuilder::check_lengths() {
  for (const auto* args : {&op_->inputs, &op_->outputs}) {
    for (const ArgSignature& arg : *args) {
      const AttrValue* value = arg.number_attr >= 0 ? values_[static_cast<size_t>(arg.number_attr)] : nullptr;
      const int64_t* length = value ? value->get_if<int64_t>() : nullptr;
      const AttrSignature* attr = length ? &op_->attrs[static_cast<size_t>(arg.number_attr)] : nullptr;
      if (attr && *length < 0 && !attr->minimum)
        add(cat("Value for attr '", attr->name, "' of ", *length, " is negative"), {}, attr->name);
    }
  }
}

// True when the arguments take exactly as many inputs as there are; finds the one number or list that is not given.
bool TypeBuilder::solve_lengths(InferredAttrs& made) {
  const auto num_inputs = static_cast<int64_t>(actual_.size());
  int64_t known = 0, factor = 0;
  int open = -1, defaulted = -1;
  for (const ArgSignature& arg : op_->inputs) {
    int64_t length = arg_length(arg);
    int attr = count_attr(arg);
    if (length >= 0) {
      if (__builtin_add_overflow(known, length, &known)) return false;
      if (attr >= 0 && !values_[static_cast<size_t>(attr)]) defaulted = attr;
    } else if (open < 0 || open == attr) {
      open = attr;
      ++factor;
    } else {
      add(cat("attr '", op_->attrs[static_cast<size_t>(attr)].name,
              "' must be given: the inputs alone do not tell it"));
      return false;
    }
  }
  if (open < 0 && known != num_inputs && defaulted >= 0) {  // the inputs overrule a default
    open = defaulted;
    for (const ArgSignature& arg : op_->inputs) {
      if (count_attr(arg) != open) continue;
      known -= arg_length(arg);
      ++factor;
    }
  }
  if (open < 0) return known == num_inputs;
  int64_t rest = num_inputs - known;
  if (rest < 0 || rest % factor != 0) return false;
  auto at = static_cast<size_t>(open);
  if (op_->attrs[at].type.kind == AttrKind::kInt && !values_[at]) {
    values_[at] = made.of(rest / factor);
  } else {
    list_lengths_[at] = rest / factor;
  }
  return true;
}

void TypeBuilder::infer_types(InferredAttrs& made) {
  size_t slot = 0;
  for (size_t a = 0; a < op_->inputs.size(); ++a) {
    const ArgSignature& arg = op_->inputs[a];
    const auto length = static_cast<size_t>(arg_length(arg));
    auto types = actual_.subspan(slot, length);
    slot += length;
    input_args_.insert(input_args_.end(), length, static_cast<uint16_t>(a));
    bool known = std::find(types.begin(), types.end(), DType::kInvalid) == types.end();
    if (arg.type_attr >= 0 && !values_[static_cast<size_t>(arg.type_attr)]) {
      auto first = std::find_if(types.begin(), types.end(), [](DType t) { return t != DType::kInvalid; });
      if (first != types.end()) values_[static_cast<size_t>(arg.type_attr)] = made.of(base_type(*first));
    } else if (arg.type_list_attr >= 0 && known && !values_[static_cast<size_t>(arg.type_list_attr)]) {
      std::vector<DType> bases;
      for (DType t : types) bases.push_back(base_type(t));
      values_[static_cast<size_t>(arg.type_list_attr)] = made.of(std::move(bases));
    }
  }
}

void TypeBuilder::report_input_count() {
  int64_t wanted = 0;
  bool open = false;
  for (const ArgSignature& arg : op_->inputs) {
    int64_t length = arg_length(arg);
    open |= length < 0;
    if (__builtin_add_overflow(wanted, std::max<int64_t>(length, 0), &wanted))
      wanted = std::numeric_limits<int64_t>::max();
  }
  std::string has = cat("has ", actual_.size(), actual_.size() == 1 ? " input, " : " inputs, ");
  if (open) {
    append(has, "which ", op_->name, " cannot share out");
  } else {
    append(has, op_->name, " takes ", wanted == 0 ? "none" : std::to_string(wanted));
  }
  add(std::move(has), signature_text(*op_));
}

void TypeBuilder::infer(InferredAttrs& made) {
  size_t before = problems_.size();
  if (!solve_lengths(made)) {
    if (problems_.size() > before) return;
    report_input_count();
    return;
  }
  infer_types(made);
  // A constant says its type itself.
  int dtype = op_->find_attr("dtype"), value = op_->find_attr("value");
  if (dtype < 0 || value < 0 || !values_[static_cast<size_t>(value)]) return;
  const Tensor* tensor = values_[static_cast<size_t>(value)]->get_if<Tensor>();
  const AttrValue*& type = values_[static_cast<size_t>(dtype)];
  if (tensor && !type) type = made.of(tensor->dtype());
}

DType TypeBuilder::wanted_type(size_t slot) const {
  const ArgSignature& arg = op_->inputs[input_args_[slot]];
  if (arg.type != DType::kInvalid) return arg.type;
  if (arg.type_attr >= 0) {
    const AttrValue* value = effective(arg.type_attr);
    const DType* type = value ? value->get_if<DType>() : nullptr;
    return type ? *type : DType::kInvalid;
  }
  const AttrValue* value = effective(arg.type_list_attr);
  const auto* types = value ? value->get_if<std::vector<DType>>() : nullptr;
  auto first =
      static_cast<size_t>(std::find(input_args_.begin(), input_args_.end(), input_args_[slot]) - input_args_.begin());
  return types && slot - first < types->size() ? (*types)[slot - first] : DType::kInvalid;
}

const AttrSignature* TypeBuilder::wanted_attr(size_t slot) const {
  int attr = op_->inputs[input_args_[slot]].type_attr;
  return attr >= 0 ? &op_->attrs[static_cast<size_t>(attr)] : nullptr;
}

void TypeBuilder::report_missing(size_t attr) {
  // An attr that an input without a type would have told is that input's problem.
  for (size_t slot = 0; slot < actual_.size(); ++slot) {
    const ArgSignature& arg = op_->inputs[input_args_[slot]];
    bool told = arg.type_attr == static_cast<int>(attr) || arg.type_list_attr == static_cast<int>(attr);
    if (told && actual_[slot] == DType::kInvalid) {
      unknown_ = true;
      return;
    }
  }
  const AttrSignature& a = op_->attrs[attr];
  if (traits_of(op_->name).constant && a.name == "dtype") return;  // the value, which is missing too, would tell
  std::string hint = cat("attr '", a.name, "' is a ", attr_type_name(a.type));
  if (a.allowed_values) append(hint, ", one of ", summarize_attr(*a.allowed_values));
  if (traits_of(op_->name).legacy_variable) hint += "; \"initial_value\" gives type, shape and value at once";
  add(cat("NodeDef missing attr '", a.name, "' from ", op_->name), std::move(hint));
}

bool TypeBuilder::make_types(const std::vector<ArgSignature>& args, std::vector<DType>& types,
                             std::vector<uint16_t>& arg_of) {
  types.clear();
  arg_of.clear();
  for (size_t a = 0; a < args.size(); ++a) {
    const ArgSignature& arg = args[a];
    int64_t length = arg_length(arg);
    if (length < 0) {  // a function's body leaves it open
      unknown_ = true;
      return false;
    }
    if (length > kMaxOutputs - static_cast<int64_t>(types.size())) {
      add(cat("has ", length, " outputs '", arg.name, "'; at most ", kMaxOutputs, " are possible"));
      return false;
    }
    arg_of.insert(arg_of.end(), static_cast<size_t>(length), static_cast<uint16_t>(a));
    if (arg.type_list_attr >= 0) {
      if (const auto* list = effective(arg.type_list_attr)->get_if<std::vector<DType>>()) {
        types.insert(types.end(), list->begin(), list->end());
      }
      continue;
    }
    DType type = arg.type;
    if (arg.type_attr >= 0) {
      const DType* value = effective(arg.type_attr)->get_if<DType>();
      type = value ? *value : DType::kInvalid;
    }
    types.insert(types.end(), static_cast<size_t>(length),
                 arg.is_ref && type != DType::kInvalid ? make_ref(type) : type);
  }
  return true;
}

bool TypeBuilder::finish() {
  for (size_t i = 0; i < op_->attrs.size(); ++i) {
    const AttrSignature& attr = op_->attrs[i];
    if (is_written_[i]) continue;
    attrs_as_written_ = false;
    if (values_[i]) {
      if (std::string problem = attr_mismatch(attr, *values_[i]); !problem.empty()) {
        add(std::move(problem), cat("'", attr.name, "' follows from the inputs: ", signature_text(*op_)));
      }
    } else if (!attr.default_value) {
      report_missing(i);
    }
  }
  if (!problems_.empty() || unknown_) return false;
  return make_types(op_->inputs, input_types_, input_args_) && make_types(op_->outputs, output_types_, output_args_);
}

std::optional<size_t> TypeBuilder::first_wrong_input() const {
  for (size_t slot = 0; slot < actual_.size(); ++slot) {
    DType wanted = input_types_[slot], got = actual_[slot];
    if (wanted == DType::kInvalid || got == DType::kInvalid) continue;
    if (got != wanted && base_type(got) != wanted) return slot;
  }
  return std::nullopt;
}

void TypeBuilder::add_attrs(std::vector<Attrs::Entry>& out) const {
  out.reserve(out.size() + written_.size() + op_->attrs.size());
  out.insert(out.end(), written_.begin(), written_.end());
  for (size_t i = 0; i < op_->attrs.size(); ++i) {
    if (!is_written_[i] && values_[i]) out.emplace_back(op_->attrs[i].name, values_[i]);
  }
  for (size_t i = 0; i < op_->attrs.size(); ++i) {
    if (!values_[i]) out.emplace_back(op_->attrs[i].name, &*op_->attrs[i].default_value);
  }
}

}  // namespace emplace
