#include "core/formats/attr_writer.h"

#include "core/base/base64.h"
#include "core/formats/tensor_writer.h"

namespace emplace {
namespace {

std::string_view member_of(AttrKind kind) {
  switch (kind) {
    case AttrKind::kString:
      return "s";
    case AttrKind::kInt:
      return "i";
    case AttrKind::kFloat:
      return "f";
    case AttrKind::kBool:
      return "b";
    case AttrKind::kType:
      return "type";
    case AttrKind::kShape:
      return "shape";
    case AttrKind::kTensor:
      return "tensor";
    case AttrKind::kFunc:
      return "func";
    default:
      return "placeholder";
  }
}

void write_value(JsonWriter& json, AttrKind kind, const std::string& v) {
  json.value(kind == AttrKind::kPlaceholder ? v : encode_base64(v));
}
void write_value(JsonWriter& json, AttrKind, int64_t v) { json.value(std::to_string(v)); }
void write_value(JsonWriter& json, AttrKind, float v) { json.value(v); }
void write_value(JsonWriter& json, AttrKind, bool v) { json.value(v); }
void write_value(JsonWriter& json, AttrKind, DType v) {
  json.value(v == DType::kInvalid ? std::string_view("DT_INVALID") : dtype_enum_name(v));
}
void write_value(JsonWriter& json, AttrKind, const Shape& v) { write_shape_proto(json, v); }
void write_value(JsonWriter& json, AttrKind, const Tensor& v) { write_tensor_proto(json, v); }
void write_value(JsonWriter& json, AttrKind, const FuncValue& v) {
  json.begin_object().member("name", v.name);
  if (!v.attrs.empty()) {
    json.key("attr").begin_object();
    for (const auto& [name, value] : v.attrs) write_attr_message(json.key(name), value);
    json.end_object();
  }
  json.end_object();
}
void write_value(JsonWriter&, AttrKind, std::monostate) {}

}  // namespace

void write_attr_message(JsonWriter& json, const AttrValue& value) {
  AttrType type = value.type();
  json.begin_object();
  if (!type.list) {
    if (type.kind != AttrKind::kNone) json.key(member_of(type.kind));
    value.visit([&]<class T>(const T& v) {
      if constexpr (requires { write_value(json, type.kind, v); }) write_value(json, type.kind, v);
    });
    json.end_object();
    return;
  }
  json.key("list").begin_object();
  value.visit([&]<class T>(const T& list) {
    if constexpr (requires {
                    list.empty();
                    list.begin();
                  } &&
                  !std::is_same_v<T, std::string>) {
      if (list.empty()) return;
      json.key(member_of(type.kind)).begin_array();
      for (const auto& v : list) write_value(json, type.kind, v);
      json.end_array();
    }
  });
  json.end_object().end_object();
}

}  // namespace emplace
