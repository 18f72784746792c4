#include "core/op/signature.h"

#include <algorithm>

#include "core/base/cat.h"

namespace emplace {
namespace {

template <class T>
bool contains(const std::vector<T>& values, const T& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// One constraint of element type T: the attr is in the allowed values; of a list, every member.
template <class T>
Result<bool> constraint_matches(const KernelConstraint& constraint, const AttrValue& value) {
  const auto& allowed = constraint.allowed_values.get<std::vector<T>>();
  if (const T* single = value.get_if<T>()) return contains(allowed, *single);
  if (const auto* list = value.get_if<std::vector<T>>()) {
    return std::all_of(list->begin(), list->end(), [&](const T& v) { return contains(allowed, v); });
  }
  if (value.type() == AttrType{AttrKind::kNone, true}) return true;  // an empty list
  return invalid_argument(cat("attr '", constraint.attr, "' is a ", attr_type_name(value.type()),
                              ", the kernel's constraint is a ", attr_type_name(constraint.allowed_values.type())));
}

}  // namespace

int OpSignature::find_attr(std::string_view attr_name) const {
  for (size_t i = 0; i < attrs.size(); ++i) {
    if (attrs[i].name == attr_name) return static_cast<int>(i);
  }
  return -1;
}

Result<bool> kernel_matches(const KernelSignature& kernel, const Attrs& attrs) {
  for (const KernelConstraint& constraint : kernel.constraints) {
    const AttrValue* value = attrs.find(constraint.attr);
    if (!value) {
      return invalid_argument(cat("the kernel has a constraint on attr '", constraint.attr, "', which the node lacks"));
    }
    Result<bool> matches = false;
    switch (constraint.allowed_values.type().kind) {
      case AttrKind::kType:
        matches = constraint_matches<DType>(constraint, *value);
        break;
      case AttrKind::kInt:
        matches = constraint_matches<int64_t>(constraint, *value);
        break;
      case AttrKind::kBool:
        matches = constraint_matches<bool>(constraint, *value);
        break;
      case AttrKind::kString:
        matches = constraint_matches<std::string>(constraint, *value);
        break;
      default:
        return invalid_argument(
            cat("the kernel's constraint on attr '", constraint.attr, "' is of a kind that has no meaning"));
    }
    if (!matches.ok() || !*matches) return matches;
  }
  return true;
}

}  // namespace emplace
