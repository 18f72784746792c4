// Part of core/formats/tensor_reader.h: TensorProto in protobuf's JSON mapping.
#include <array>
#include <cstring>
#include <vector>

#include "core/base/cat.h"
#include "core/formats/element_buffer.h"
#include "core/formats/object_reader.h"
#include "core/formats/tensor_content.h"
#include "core/formats/tensor_reader.h"
#include "core/formats/value_reader.h"
#include "core/tensor/tensor_proto_fields.h"

namespace emplace {
namespace {

using Kind = JsonReader::Kind;

/// Fields by their numbers, from 0.
constexpr int key_index(uint32_t field) { return static_cast<int>(field) - 1; }
constexpr int kDType = key_index(tensor_proto::kDType), kTensorShape = key_index(tensor_proto::kTensorShape),
              kTensorContent = key_index(tensor_proto::kTensorContent),
              kFirstValues = key_index(tensor_proto::kFloatVal), kStringVal = key_index(tensor_proto::kStringVal),
              kHalfVal = key_index(tensor_proto::kHalfVal), kFloat8Val = key_index(tensor_proto::kFloat8Val),
              kFieldCount = kFloat8Val + 1;
constexpr std::string_view kKeys[kFieldCount] = {
    "dtype",    "tensor_shape",        "version_number", "tensor_content", "float_val",  "double_val",
    "int_val",  "string_val",          "scomplex_val",   "int64_val",      "bool_val",   "dcomplex_val",
    "half_val", "resource_handle_val", "variant_val",    "uint32_val",     "uint64_val", "float8_val"};

Status add_value(JsonReader& reader, int field, ElementBuffer& out) {
  Kind kind = reader.peek();
  if (field == kStringVal) {
    auto bytes = read_bytes(reader, kKeys[field]);
    return bytes ? out.add_text(*bytes) : ok_status();  // the problem is told
  }
  if (field == kHalfVal) {
    auto bits = read_integer(reader, kKeys[field], 0, 0xffff);
    return bits ? out.add_bits(static_cast<uint16_t>(*bits)) : ok_status();
  }
  switch (kind) {
    case Kind::kNumber:
      return out.add_number(reader.take_number());
    case Kind::kBool:
      return out.add_bool(reader.take_bool());
    case Kind::kString:
      return out.add_quoted_number(reader.take_string());
    default:
      reader.skip();
      return invalid_argument(cat("found ", kind_name(kind), ", wanted a value"));
  }
}

bool read_list(JsonReader& reader, int field, ElementBuffer& out) {
  if (!expect(reader, Kind::kArray, kKeys[field])) return false;
  int64_t problems = reader.problems().count();
  reader.enter_array();
  while (reader.next_element()) {
    size_t at = reader.position();
    Status status = add_value(reader, field, out);
    if (status.code() == Code::kResourceExhausted) reader.give_up(status);
    if (!status.ok() && !reader.failed() && reader.problems().count() == problems) {
      reader.problem(at, cat(kKeys[field], ": ", status.message()));
    }
  }
  return reader.problems().count() == problems;
}

struct Parts {
  DType dtype = DType::kInvalid;
  Shape shape;
  std::array<std::optional<size_t>, kFieldCount> at;  // where each value field stands; read once the type is known
  bool good = true;
};

Parts read_parts(LoadContext& c) {
  Parts parts;
  for (ObjectReader object(c.reader, kKeys, "a tensor"); object.next();) {
    int field = object.field();
    if (field == kDType) {
      auto dtype = read_value_dtype(c.reader, "dtype");
      parts.dtype = dtype.value_or(DType::kInvalid);
      parts.good = parts.good && dtype;
    } else if (field == kTensorShape) {
      auto shape = read_shape(c.reader, "tensor_shape");
      if (shape && !shape->fully_known()) {
        c.reader.problem(object.key_position(), cat("the shape of a value must be known, found ", shape->to_string()));
        shape.reset();
      }
      parts.good = parts.good && shape;
      if (shape) parts.shape = *shape;
    } else {
      parts.at[static_cast<size_t>(field)] = c.reader.position();
    }
  }
  parts.good = parts.good && !c.reader.failed();
  return parts;
}

std::optional<Tensor> from_content(LoadContext& c, const Parts& parts, size_t at, std::string_view content) {
  auto count = parts.shape.checked_num_elements();
  size_t element = parts.dtype == DType::kString ? 1 : dtype_size(parts.dtype);
  bool strings = parts.dtype == DType::kString;
  bool plausible = count && (strings ? static_cast<uint64_t>(*count) <= content.size()
                                     : element > 0 && static_cast<uint64_t>(*count) == content.size() / element &&
                                           content.size() % element == 0);
  if (plausible) {
    Result<Tensor> t = Tensor::allocate(parts.dtype, parts.shape);
    if (!t.ok()) {
      c.reader.problem(at, t.status());
      return std::nullopt;
    }
    if (!strings) {
      if (!content.empty()) std::memcpy(t->raw(), content.data(), content.size());
      return *t;
    }
    if (unpack_strings(content, t->data<std::string>(), static_cast<size_t>(*count))) return *t;
  }
  c.reader.problem(at, cat("tensor_content holds ", content.size(), " bytes, which is not what shape ",
                           parts.shape.to_string(), " of ", dtype_name(parts.dtype), " takes"));
  return std::nullopt;
}

std::optional<Tensor> zeros(LoadContext& c, const Parts& parts, size_t at) {
  if (!charge_fill(c, at, parts.dtype, parts.shape, 0)) return std::nullopt;
  Result<Tensor> t = Tensor::allocate(parts.dtype, parts.shape);
  if (!t.ok()) {
    c.reader.problem(at, t.status());
    return std::nullopt;
  }
  if (parts.dtype != DType::kString) std::memset(t->raw(), 0, t->size_bytes());
  return *t;
}

std::optional<Tensor> from_list(LoadContext& c, const Parts& parts, size_t at, const ElementBuffer& list) {
  if (list.size() % list.entries_per_element() != 0) {
    c.reader.problem(at, "an odd number of entries for complex values");
    return std::nullopt;
  }
  if (!charge_fill(c, at, parts.dtype, parts.shape, list.size() / list.entries_per_element())) return std::nullopt;
  Result<Tensor> t = list.to_tensor(parts.shape);
  if (t.ok()) return *t;
  c.reader.problem(at, t.status());
  return std::nullopt;
}

// Values in a field that the type does not use mean that one of the two is wrong.
bool other_fields_empty(LoadContext& c, const Parts& parts, int own) {
  for (int field = kFirstValues; field < kFieldCount; ++field) {
    auto at = parts.at[static_cast<size_t>(field)];
    if (field == own || !at) continue;
    c.reader.seek(*at);
    std::string_view text = c.reader.skip();
    if (text.find_first_not_of(" \t\r\n", 1) + 1 == text.size()) continue;  // [] or ""
    c.reader.problem(*at, cat("a tensor of type ", dtype_enum_name(parts.dtype), " with ", kKeys[field]),
                     own < 0 ? "" : cat("its values stand in ", kKeys[own]));
    return false;
  }
  return true;
}

std::optional<Tensor> read_value(LoadContext& c, const Parts& parts, size_t at) {
  const int own = key_index(tensor_proto::values_of(parts.dtype));  // -1: none can
  if (parts.dtype == DType::kResource || parts.dtype == DType::kVariant) {
    if (parts.shape.checked_num_elements())
      return Tensor::wrap(parts.dtype, parts.shape, nullptr);  // a handle has no value in a file
  }
  if (own < 0 || !other_fields_empty(c, parts, own)) {
    if (own < 0) c.reader.problem(at, cat("a tensor of type ", dtype_enum_name(parts.dtype)), "state its \"dtype\"");
    return std::nullopt;
  }
  for (int field : {kTensorContent, own == kFloat8Val ? own : -1}) {
    if (field < 0 || !parts.at[static_cast<size_t>(field)]) continue;
    size_t value_at = *parts.at[static_cast<size_t>(field)];
    c.reader.seek(value_at);
    auto bytes = read_bytes(c.reader, kKeys[field]);
    if (!bytes) return std::nullopt;
    if (!bytes->empty()) return from_content(c, parts, value_at, *bytes);
  }
  if (auto value_at = parts.at[static_cast<size_t>(own)]; value_at && own != kFloat8Val) {
    ElementBuffer list(parts.dtype);
    c.reader.seek(*value_at);
    if (!read_list(c.reader, own, list)) return std::nullopt;
    if (list.size() > 0) return from_list(c, parts, *value_at, list);
  }
  auto count = parts.shape.checked_num_elements();
  if (c.values_elsewhere && count && *count > 0) return Tensor::wrap(parts.dtype, parts.shape, nullptr);
  return zeros(c, parts, at);
}

}  // namespace

std::optional<Tensor> read_tensor_proto(LoadContext& c) {
  c.reader.peek();
  size_t at = c.reader.position();
  Parts parts = read_parts(c);
  if (!parts.good) return std::nullopt;
  size_t after = c.reader.position();
  auto value = read_value(c, parts, at);
  c.reader.seek(after);
  return value;
}

}  // namespace emplace
