#include "core/graph/attr_check.h"

#include <algorithm>

#include "core/base/base64.h"
#include "core/base/cat.h"
#include "core/base/suggest.h"
#include "core/op/attr_text.h"

namespace emplace {
namespace {

std::string type_problem(const AttrSignature& attr, DType t) {
  if (is_ref(t))
    return cat("AttrValue must not have reference type value of ", dtype_tf_name(t), " for attr '", attr.name, "'");
  if (t == DType::kInvalid) return cat("AttrValue has invalid DataType for attr '", attr.name, "'");
  return {};
}

// A list of types reads "half, float" in this message, other lists as attr values do.
std::string allowed_text(const AttrValue& allowed) {
  const auto* types = allowed.get_if<std::vector<DType>>();
  if (!types) {
    std::string text = summarize_attr(allowed);
    return text.substr(1, text.size() - 2);
  }
  std::string out;
  for (DType t : *types) append(out, out.empty() ? "" : ", ", dtype_tf_name(t));
  return out;
}

template <class T>
std::string not_allowed(const AttrSignature& attr, const T& value, auto text) {
  const auto* allowed = attr.allowed_values->get_if<std::vector<T>>();
  if (!allowed || std::find(allowed->begin(), allowed->end(), value) != allowed->end()) return {};
  return cat("Value for attr '", attr.name, "' of ", text(value),
             " is not in the list of allowed values: ", allowed_text(*attr.allowed_values));
}

// Calls `check` for the value, or for each member of a list of them, until it finds something.
template <class T>
std::string first_problem(const AttrValue& value, auto check) {
  if (const T* single = value.get_if<T>()) return check(*single);
  if (const auto* list = value.get_if<std::vector<T>>()) {
    for (const T& v : *list) {
      if (std::string problem = check(v); !problem.empty()) return problem;
    }
  }
  return {};
}

int64_t list_length(const AttrValue& value) {
  auto length = [&]<class T>(std::in_place_type_t<T>) {
    const auto* list = value.get_if<std::vector<T>>();
    return list ? static_cast<int64_t>(list->size()) : 0;
  };
  switch (value.type().kind) {
    case AttrKind::kString:
      return length(std::in_place_type<std::string>);
    case AttrKind::kInt:
      return length(std::in_place_type<int64_t>);
    case AttrKind::kFloat:
      return length(std::in_place_type<float>);
    case AttrKind::kBool:
      return length(std::in_place_type<bool>);
    case AttrKind::kType:
      return length(std::in_place_type<DType>);
    case AttrKind::kShape:
      return length(std::in_place_type<Shape>);
    case AttrKind::kTensor:
      return length(std::in_place_type<Tensor>);
    case AttrKind::kFunc:
      return length(std::in_place_type<FuncValue>);
    default:
      return 0;
  }
}

std::string below_minimum(const AttrSignature& attr, const AttrValue& value) {
  if (attr.type.list) {
    int64_t length = list_length(value);
    if (length >= *attr.minimum) return {};
    return cat("Length for attr '", attr.name, "' of ", length, " must be at least minimum ", *attr.minimum);
  }
  const int64_t* number = value.get_if<int64_t>();
  if (!number || *number >= *attr.minimum) return {};
  return cat("Value for attr '", attr.name, "' of ", *number, " must be at least minimum ", *attr.minimum);
}

}  // namespace

std::string attr_mismatch(const AttrSignature& attr, const AttrValue& value) {
  if (value.type().kind == AttrKind::kPlaceholder) return {};
  bool untyped_empty_list = attr.type.list && value.type() == AttrType{AttrKind::kNone, true};
  if (value.type() != attr.type && !untyped_empty_list) {
    return cat("AttrValue had value with type '", attr_type_name(value.type()), "' when '", attr_type_name(attr.type),
               "' expected for attr '", attr.name, "'");
  }
  if (attr.type.kind == AttrKind::kType) {
    std::string problem = first_problem<DType>(value, [&](DType t) { return type_problem(attr, t); });
    if (!problem.empty()) return problem;
  }
  if (attr.minimum) {
    if (std::string problem = below_minimum(attr, value); !problem.empty()) return problem;
  }
  if (!attr.allowed_values) return {};
  if (attr.type.kind == AttrKind::kType) {
    return first_problem<DType>(value, [&](DType t) { return not_allowed(attr, t, dtype_tf_name); });
  }
  return first_problem<std::string>(value, [&](const std::string& s) {
    return not_allowed(attr, s, [](const std::string& v) { return summarize_attr(AttrValue::of(v)); });
  });
}

std::string attr_hint(const AttrSignature& attr, const AttrValue& value) {
  const auto* allowed = attr.allowed_values ? attr.allowed_values->get_if<std::vector<std::string>>() : nullptr;
  const std::string* text = value.get_if<std::string>();
  if (!allowed || !text) return {};
  Suggestion near(*text);
  for (const std::string& word : *allowed) {
    near.offer(word);
    // Plain text where protobuf has base64.
    if (decode_base64(word) == *text) return cat("text inside {\"s\": ...} is base64; write \"", word, "\" alone");
  }
  return near.text();
}

}  // namespace emplace
