// Part of core/formats/attr_reader.h: AttrValue in protobuf's JSON mapping.
#include <algorithm>

#include "core/base/cat.h"
#include "core/formats/attr_reader.h"
#include "core/formats/object_reader.h"
#include "core/formats/tensor_reader.h"
#include "core/formats/value_reader.h"

namespace emplace {
namespace {

using Kind = JsonReader::Kind;

enum Member { kS, kI, kF, kB, kType, kShape, kTensor, kFunc, kList, kPlaceholder };
constexpr std::string_view kMembers[] = {"s", "i", "f", "b", "type", "shape", "tensor", "func", "list", "placeholder"};

std::optional<FuncValue> read_function_name(LoadContext& c, std::string_view what) {
  enum { kName, kAttr };
  static constexpr std::string_view kKeys[] = {"name", "attr"};
  FuncValue out;
  bool good = true;
  for (ObjectReader object(c.reader, kKeys, "a function attr"); object.next();) {
    if (object.field() == kName) {
      auto name = read_text(c.reader, what);
      if (name) out.name = *name;
      good = good && name;
    } else if (expect(c.reader, Kind::kObject, what)) {
      c.reader.enter_object();
      for (std::string_view key; c.reader.next_key(key);) {
        auto value = read_attr_message(c, key, {});
        good = good && value;
        if (value) out.attrs.emplace_back(key, std::move(*value));
      }
    }
  }
  if (!good || c.reader.failed()) return std::nullopt;
  return out;
}

template <class T>
std::optional<AttrValue> wrap(AttrKind kind, std::optional<T> value) {
  if (!value) return std::nullopt;
  return AttrValue({kind, false}, std::move(*value));
}

std::optional<AttrValue> read_scalar(LoadContext& c, int member, std::string_view what) {
  switch (member) {
    case kS:
      return wrap(AttrKind::kString, read_bytes(c.reader, what));
    case kI:
      return wrap(AttrKind::kInt, read_integer(c.reader, what));
    case kF:
      return wrap(AttrKind::kFloat, read_float(c.reader, what));
    case kB:
      return wrap(AttrKind::kBool, read_bool(c.reader, what));
    case kType:
      return wrap(AttrKind::kType, read_dtype(c.reader, what));
    case kShape:
      return wrap(AttrKind::kShape, read_shape(c.reader, what));
    case kTensor:
      return wrap(AttrKind::kTensor, read_tensor_proto(c));
    case kFunc:
      return wrap(AttrKind::kFunc, read_function_name(c, what));
    default: {
      auto name = read_text(c.reader, what);
      if (!name) return std::nullopt;
      return AttrValue({AttrKind::kPlaceholder, false}, std::string(*name));
    }
  }
}

// Elements are read as scalars and gathered; `T` is what a scalar of that member holds.
template <class T>
std::optional<AttrValue> read_members(LoadContext& c, int member, std::string_view what) {
  std::vector<T> list;
  bool good = true;
  AttrKind kind = AttrKind::kNone;
  c.reader.enter_array();
  while (c.reader.next_element()) {
    auto value = read_scalar(c, member, what);
    good = good && value;
    if (!value) continue;
    kind = value->type().kind;
    list.push_back(value->template get<T>());
  }
  if (!good || c.reader.failed()) return std::nullopt;
  return AttrValue::list_of(kind, std::move(list));
}

std::optional<AttrValue> read_members_of(LoadContext& c, int member, std::string_view what) {
  if (!expect(c.reader, Kind::kArray, what)) return std::nullopt;
  switch (member) {
    case kS:
      return read_members<std::string>(c, member, what);
    case kI:
      return read_members<int64_t>(c, member, what);
    case kF:
      return read_members<float>(c, member, what);
    case kB:
      return read_members<bool>(c, member, what);
    case kType:
      return read_members<DType>(c, member, what);
    case kShape:
      return read_members<Shape>(c, member, what);
    case kTensor:
      return read_members<Tensor>(c, member, what);
    default:
      return read_members<FuncValue>(c, member, what);
  }
}

AttrValue empty_list() { return AttrValue({AttrKind::kNone, true}, std::monostate{}); }

// One dialect writes every member, most of them empty: the one with values counts.
std::optional<AttrValue> read_list(LoadContext& c, std::string_view what) {
  std::optional<AttrValue> out;
  bool good = true;
  for (ObjectReader object(c.reader, std::span(kMembers).first(kList), "a list attr"); object.next();) {
    size_t at = object.key_position();
    auto value = read_members_of(c, object.field(), what);
    good = good && value;
    if (!value || value->type().kind == AttrKind::kNone) continue;
    if (out) {
      c.reader.problem(at, cat(what, ": a list with members of two kinds"));
      good = false;
    }
    out = std::move(value);
  }
  if (!good || c.reader.failed()) return std::nullopt;
  return out ? std::move(*out) : empty_list();
}

}  // namespace

AttrValue zero_attr(AttrType type) {
  if (type.list) return empty_list();
  switch (type.kind) {
    case AttrKind::kString:
      return AttrValue::of(std::string());
    case AttrKind::kInt:
      return AttrValue::of(int64_t{0});
    case AttrKind::kFloat:
      return AttrValue::of(0.0f);
    case AttrKind::kBool:
      return AttrValue::of(false);
    case AttrKind::kShape:
      return AttrValue::of(Shape{});
    default:
      return {};
  }
}

std::optional<AttrValue> read_attr_message(LoadContext& c, std::string_view what, AttrType declared) {
  std::optional<AttrValue> out;
  bool seen = false, good = true;
  for (ObjectReader object(c.reader, kMembers, "an attr value"); object.next();) {
    if (seen) {
      c.reader.problem(object.key_position(), cat(what, ": an attr value with two kinds"));
      good = false;
      continue;
    }
    seen = true;
    out = object.field() == kList ? read_list(c, what) : read_scalar(c, object.field(), what);
  }
  if (!good || c.reader.failed()) return std::nullopt;
  return seen ? std::move(out) : zero_attr(declared);
}

bool is_attr_message(JsonReader& reader) {
  static constexpr std::string_view kTensorKeys[] = {"dtype", "data", "fill", "file", "key"};
  bool message = true;
  int shapes = 0;
  // Looks at the keys up to the first that tells: "shape" alone may be either.
  Problems scratch;
  JsonReader look = reader.lookahead(scratch);
  look.enter_object();
  for (std::string_view key; look.next_key(key); look.skip()) {
    bool tensor = std::find(std::begin(kTensorKeys), std::end(kTensorKeys), key) != std::end(kTensorKeys);
    if (tensor) message = false;
    if (tensor || key != "shape" || ++shapes > 1) break;
  }
  return message;
}

}  // namespace emplace
