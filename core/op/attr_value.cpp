#include "core/op/attr_value.h"

#include "core/base/assert.h"

namespace emplace {
namespace {

// An untyped empty list reads as an empty list of whatever is asked for.
template <class T>
const std::vector<T>& list_of(const AttrValue& v) {
  static const std::vector<T> kEmpty;
  const auto* list = v.get_if<std::vector<T>>();
  return list ? *list : kEmpty;
}

}  // namespace

std::string attr_type_name(AttrType t) {
  static constexpr std::string_view kNames[] = {"none", "string", "int",    "float", "bool",
                                                "type", "shape",  "tensor", "func",  "placeholder"};
  std::string name(kNames[static_cast<size_t>(t.kind)]);
  return t.list ? "list(" + name + ")" : name;
}

AttrValue::AttrValue() = default;
AttrValue::AttrValue(AttrType type, Storage value) : type_(type), value_(std::move(value)) {}
AttrValue::AttrValue(const AttrValue&) = default;
AttrValue::AttrValue(AttrValue&&) noexcept = default;
AttrValue& AttrValue::operator=(const AttrValue&) = default;
AttrValue& AttrValue::operator=(AttrValue&&) noexcept = default;
AttrValue::~AttrValue() = default;

AttrValue AttrValue::of(std::string v) { return {{AttrKind::kString, false}, std::move(v)}; }
AttrValue AttrValue::of(int64_t v) { return {{AttrKind::kInt, false}, v}; }
AttrValue AttrValue::of(float v) { return {{AttrKind::kFloat, false}, v}; }
AttrValue AttrValue::of(bool v) { return {{AttrKind::kBool, false}, v}; }
AttrValue AttrValue::of(DType v) { return {{AttrKind::kType, false}, v}; }
AttrValue AttrValue::of(Shape v) { return {{AttrKind::kShape, false}, std::move(v)}; }
AttrValue AttrValue::of(Tensor v) { return {{AttrKind::kTensor, false}, std::move(v)}; }

const AttrValue* Attrs::find(std::string_view name) const {
  for (const auto& [key, value] : entries_) {
    if (key == name) return value;
  }
  return nullptr;
}

const AttrValue& Attrs::at(std::string_view name) const {
  const AttrValue* value = find(name);
  EMPLACE_ASSERT(value != nullptr, "validate() fills in every attr of an op");
  return *value;
}

int64_t Attrs::integer(std::string_view name) const { return at(name).get<int64_t>(); }
float Attrs::number(std::string_view name) const { return at(name).get<float>(); }
bool Attrs::flag(std::string_view name) const { return at(name).get<bool>(); }
DType Attrs::type(std::string_view name) const { return at(name).get<DType>(); }
const std::string& Attrs::text(std::string_view name) const { return at(name).get<std::string>(); }
const Shape& Attrs::shape(std::string_view name) const { return at(name).get<Shape>(); }
const Tensor& Attrs::tensor(std::string_view name) const { return at(name).get<Tensor>(); }
const std::vector<int64_t>& Attrs::integers(std::string_view name) const { return list_of<int64_t>(at(name)); }
const std::vector<float>& Attrs::numbers(std::string_view name) const { return list_of<float>(at(name)); }
const std::vector<std::string>& Attrs::texts(std::string_view name) const { return list_of<std::string>(at(name)); }
const std::vector<DType>& Attrs::types(std::string_view name) const { return list_of<DType>(at(name)); }
const std::vector<Shape>& Attrs::shapes(std::string_view name) const { return list_of<Shape>(at(name)); }

}  // namespace emplace
