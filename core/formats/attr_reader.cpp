#include "core/formats/attr_reader.h"

#include <algorithm>
#include <array>

#include "core/base/cat.h"
#include "core/formats/object_reader.h"
#include "core/formats/tensor_reader.h"
#include "core/formats/value_reader.h"

namespace emplace {
namespace {

using Kind = JsonReader::Kind;

std::optional<Tensor> read_tensor(LoadContext& c, DType type) {
  auto tensor = read_plain_tensor(c, type, Untyped::kFloat);
  if (!tensor) return std::nullopt;
  return std::move(tensor->value);
}

// A plain value of one kind.
template <class T>
struct PlainValue;
template <>
struct PlainValue<std::string> {
  static std::optional<std::string> read(LoadContext& c, std::string_view what, DType) {
    auto text = read_text(c.reader, what);
    if (!text) return std::nullopt;
    return std::string(*text);
  }
};
template <>
struct PlainValue<int64_t> {
  static auto read(LoadContext& c, std::string_view what, DType) { return read_integer(c.reader, what); }
};
template <>
struct PlainValue<float> {
  static auto read(LoadContext& c, std::string_view what, DType) { return read_float(c.reader, what); }
};
template <>
struct PlainValue<bool> {
  static auto read(LoadContext& c, std::string_view what, DType) { return read_bool(c.reader, what); }
};
template <>
struct PlainValue<DType> {
  static auto read(LoadContext& c, std::string_view what, DType) { return read_dtype(c.reader, what); }
};
template <>
struct PlainValue<Shape> {
  static auto read(LoadContext& c, std::string_view what, DType) { return read_shape(c.reader, what); }
};
template <>
struct PlainValue<Tensor> {
  static auto read(LoadContext& c, std::string_view, DType type) { return read_tensor(c, type); }
};
template <>
struct PlainValue<FuncValue> {
  static std::optional<FuncValue> read(LoadContext& c, std::string_view what, DType) {
    auto name = read_text(c.reader, what);
    if (!name) return std::nullopt;
    return FuncValue{std::string(*name), {}};
  }
};

template <class T>
std::optional<AttrValue> read_kind(LoadContext& c, std::string_view what, AttrType type, DType tensor_type) {
  if (!type.list) {
    auto value = PlainValue<T>::read(c, what, tensor_type);
    if (!value) return std::nullopt;
    return AttrValue(type, std::move(*value));
  }
  if (!expect(c.reader, Kind::kArray, what)) return std::nullopt;
  std::vector<T> list;
  bool good = true;
  c.reader.enter_array();
  while (c.reader.next_element()) {
    auto value = PlainValue<T>::read(c, what, tensor_type);
    good = good && value;
    if (value) list.push_back(std::move(*value));
  }
  if (!good || c.reader.failed()) return std::nullopt;
  return AttrValue::list_of(type.kind, std::move(list));
}

std::optional<AttrValue> read_plain(LoadContext& c, std::string_view what, AttrType type, DType tensor_type) {
  switch (type.kind) {
    case AttrKind::kString:
      return read_kind<std::string>(c, what, type, tensor_type);
    case AttrKind::kInt:
      return read_kind<int64_t>(c, what, type, tensor_type);
    case AttrKind::kFloat:
      return read_kind<float>(c, what, type, tensor_type);
    case AttrKind::kBool:
      return read_kind<bool>(c, what, type, tensor_type);
    case AttrKind::kType:
      return read_kind<DType>(c, what, type, tensor_type);
    case AttrKind::kShape:
      return read_kind<Shape>(c, what, type, tensor_type);
    case AttrKind::kTensor:
      return read_kind<Tensor>(c, what, type, tensor_type);
    case AttrKind::kFunc:
      return read_kind<FuncValue>(c, what, type, tensor_type);
    default:
      c.reader.skip();
      return std::nullopt;
  }
}

// TensorFlow's own habit of naming type attrs: T, Tidx, SrcT, dtype, out_type, Tin ...
bool sounds_like_type(std::string_view name) {
  return name.starts_with('T') || name.ends_with("dtype") || name.ends_with("type") || name.ends_with("types") ||
         name.ends_with('T');
}

AttrKind kind_of_text(std::string_view name, std::string_view text) {
  return sounds_like_type(name) && parse_dtype(text) ? AttrKind::kType : AttrKind::kString;
}

AttrKind kind_of_number(std::string_view number) {
  return number.find_first_of(".eE") == std::string_view::npos ? AttrKind::kInt : AttrKind::kFloat;
}

// The type of a plain value whose attr nobody declares, from its first entry and its name. Takes nothing.
AttrType guess_type(JsonReader& reader, std::string_view name) {
  Problems scratch;
  JsonReader look = reader.lookahead(scratch);
  AttrType type;
  if (look.peek() == Kind::kArray) {
    if (name == "shape" || name == "value") return {name == "shape" ? AttrKind::kShape : AttrKind::kTensor, false};
    type.list = true;
    look.enter_array();
    if (!look.next_element()) return {AttrKind::kInt, true};
  }
  switch (look.peek()) {
    case Kind::kNumber:
      type.kind = kind_of_number(look.take_number());
      break;
    case Kind::kBool:
      type.kind = AttrKind::kBool;
      break;
    case Kind::kString:
      type.kind = kind_of_text(name, look.take_string());
      break;
    case Kind::kArray:
      type = name.ends_with("shapes") ? AttrType{AttrKind::kShape, true} : AttrType{AttrKind::kTensor, false};
      break;
    case Kind::kNull:
      type.kind = AttrKind::kShape;
      break;
    default:
      type.kind = AttrKind::kTensor;
      break;
  }
  // A list is of floats if any member is one.
  while (type == AttrType{AttrKind::kInt, true} && look.next_element()) {
    if (look.peek() == Kind::kNumber && kind_of_number(look.take_number()) == AttrKind::kFloat)
      type.kind = AttrKind::kFloat;
    if (look.failed()) break;
  }
  return type;
}

}  // namespace

std::optional<AttrValue> read_attr(LoadContext& c, std::string_view name, AttrType declared, DType tensor_type) {
  if (c.reader.peek() == Kind::kError) {
    c.reader.skip();
    return std::nullopt;
  }
  std::string what = cat("attr '", name, "'");
  if (c.reader.peek() == Kind::kObject && is_attr_message(c.reader)) {
    // {"dim": [...]} is a shape, {"name": ...} a function: messages of their own where the type says so.
    return read_attr_message(c, what, declared);
  }
  if (declared.kind == AttrKind::kNone) declared = guess_type(c.reader, name);
  return read_plain(c, what, declared, tensor_type);
}

AttrType declared_attr_type(const OpSignature* signature, std::string_view name) {
  if (name == "_class") return {AttrKind::kString, true};
  if (name == "_output_shapes") return {AttrKind::kShape, true};
  int attr = signature ? signature->find_attr(name) : -1;
  return attr < 0 ? AttrType{} : signature->attrs[static_cast<size_t>(attr)].type;
}

std::optional<AttrType> parse_attr_type(std::string_view text) {
  AttrType type;
  if (text.starts_with("list(") && text.ends_with(')')) {
    type.list = true;
    text = text.substr(5, text.size() - 6);
  }
  for (auto kind : {AttrKind::kString, AttrKind::kInt, AttrKind::kFloat, AttrKind::kBool, AttrKind::kType,
                    AttrKind::kShape, AttrKind::kTensor, AttrKind::kFunc}) {
    type.kind = kind;
    if (attr_type_name({kind, false}) == text) return type;
  }
  return std::nullopt;
}

}  // namespace emplace
