#include "core/formats/value_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/base64.h"
#include "core/base/cat.h"
#include "core/base/suggest.h"
#include "core/formats/element_buffer.h"
#include "core/formats/object_reader.h"

namespace emplace {
namespace {

using Kind = JsonReader::Kind;

// The characters of a number, quoted or not.
std::optional<std::string_view> read_number(JsonReader& reader, std::string_view what) {
  if (reader.peek() == Kind::kString) return reader.take_string();
  if (!expect(reader, Kind::kNumber, what)) return std::nullopt;
  return reader.take_number();
}

void add_problem(JsonReader& reader, size_t at, std::string_view what, const Status& status) {
  if (!reader.failed()) reader.problem(at, cat(what, ": ", status.message()));
}

void unknown_dtype(JsonReader& reader, size_t at, std::string_view what, std::string_view text) {
  Suggestion suggestion(text);
  for (int i = 1; i < kDTypeCount; ++i) suggestion.offer(dtype_name(static_cast<DType>(i)));
  std::string offered = text == "int" || text == "integer"
                            ? "did you mean 'int32' or 'int64'?"
                            : suggestion.text();  // names of the next loop live no longer than their turn
  if (offered.empty()) {
    for (int i = 1; i < kDTypeCount && offered.empty(); ++i) {
      Suggestion one(text);
      std::string name = dtype_enum_name(static_cast<DType>(i));
      one.offer(name);
      offered = one.text();
    }
  }
  if (const std::string full = cat("float", text.substr(std::min<size_t>(text.size(), 2)));
      text.starts_with("fp") && parse_dtype(full))
    offered = cat("did you mean '", full, "'?");
  reader.problem(at, cat(what, ": unknown type '", text, "'"), std::move(offered));
}

// Adds a dimension, unless there are too many: then false and, the first time, a problem.
bool add_dim(JsonReader& reader, Shape& shape, int64_t size, std::string_view what) {
  if (shape.rank() < kMaxRank) {
    shape.add_dim(size);
    return true;
  }
  reader.problem(reader.position(), cat(what, ": more than ", kMaxRank, " dimensions"));
  return false;
}

std::optional<Shape> read_dims(JsonReader& reader, std::string_view what) {
  Shape shape;
  bool good = true;
  reader.enter_array();
  while (reader.next_element()) {
    std::optional<int64_t> size = -1;
    if (reader.peek() == Kind::kNull) {
      reader.take_null();
    } else {
      size = read_integer(reader, what, -1);
    }
    good = good && size && add_dim(reader, shape, *size, what);
  }
  if (!good || reader.failed()) return std::nullopt;
  return shape;
}

// TensorShapeProto: {"dim": [{"size": "2", "name": ""}], "unknown_rank": true}.
std::optional<Shape> read_shape_proto(JsonReader& reader, std::string_view what) {
  static constexpr std::string_view kKeys[] = {"dim", "unknown_rank"};
  static constexpr std::string_view kDimKeys[] = {"size", "name"};
  Shape shape;
  bool good = true, unknown = false;
  for (ObjectReader object(reader, kKeys, "a shape"); object.next();) {
    if (object.field() == 1) {
      auto value = read_bool(reader, "unknown_rank");
      unknown = value.value_or(false);
      good = good && value.has_value();
      continue;
    }
    if (!expect(reader, Kind::kArray, "dim")) return std::nullopt;
    reader.enter_array();
    while (reader.next_element()) {
      int64_t size = 0;
      for (ObjectReader dim(reader, kDimKeys, "a dimension"); dim.next();) {
        if (dim.field() != 0) continue;
        auto value = read_integer(reader, what, -1);
        size = value.value_or(0);
        good = good && value.has_value();
      }
      good = good && add_dim(reader, shape, size, what);
    }
  }
  if (!good || reader.failed()) return std::nullopt;
  return unknown ? Shape::unknown() : shape;
}

}  // namespace

std::optional<std::string_view> read_text(JsonReader& reader, std::string_view what) {
  if (!expect(reader, Kind::kString, what)) return std::nullopt;
  return reader.take_string();
}

std::optional<bool> read_bool(JsonReader& reader, std::string_view what) {
  if (!expect(reader, Kind::kBool, what)) return std::nullopt;
  return reader.take_bool();
}

std::optional<int64_t> read_integer(JsonReader& reader, std::string_view what, int64_t low, int64_t high) {
  reader.peek();
  size_t at = reader.position();
  auto text = read_number(reader, what);
  if (!text || reader.failed()) return std::nullopt;
  Result<int64_t> value = number_as_int64(*text);
  if (!value.ok()) {
    add_problem(reader, at, what, value.status());
    return std::nullopt;
  }
  if (*value < low || *value > high) {
    std::string range = high == INT64_MAX ? cat("at least ", low) : cat(low, " to ", high);
    reader.problem(at, cat(what, ": found ", *value, ", wanted ", range));
    return std::nullopt;
  }
  return *value;
}

std::optional<double> read_double(JsonReader& reader, std::string_view what) {
  reader.peek();
  size_t at = reader.position();
  auto text = read_number(reader, what);
  if (!text || reader.failed()) return std::nullopt;
  double non_finite = 0;
  if (parse_non_finite(*text, non_finite)) return non_finite;
  Result<double> value = number_as_double(*text);
  if (value.ok()) return *value;
  add_problem(reader, at, what, value.status());
  return std::nullopt;
}

std::optional<float> read_float(JsonReader& reader, std::string_view what) {
  reader.peek();
  size_t at = reader.position();
  auto value = read_double(reader, what);
  if (!value) return std::nullopt;
  auto narrow = static_cast<float>(*value);
  if (std::isinf(narrow) && !std::isinf(*value)) {
    reader.problem(at, cat(what, ": ", *value, " is out of the range of float32"));
    return std::nullopt;
  }
  return narrow;
}

std::optional<std::string> read_bytes(JsonReader& reader, std::string_view what) {
  reader.peek();
  size_t at = reader.position();
  if (reader.peek() == Kind::kArray) {
    std::string bytes;
    bool good = true;
    reader.enter_array();
    while (reader.next_element()) {
      auto byte = read_integer(reader, what, 0, 255);
      if (byte) bytes += static_cast<char>(*byte);
      good = good && byte.has_value();
    }
    if (!good || reader.failed()) return std::nullopt;
    return bytes;
  }
  auto text = read_text(reader, what);
  if (!text || reader.failed()) return std::nullopt;
  auto bytes = decode_base64(*text);
  if (!bytes) {
    reader.problem(at, cat(what, ": not base64"), "text inside {\"s\": ...} is base64; a plain value is plain text");
  }
  return bytes;
}

std::optional<DType> read_dtype(JsonReader& reader, std::string_view what) {
  reader.peek();
  size_t at = reader.position();
  if (reader.peek() == Kind::kNumber) {
    auto number = read_integer(reader, what);
    if (!number) return std::nullopt;
    if (*number == 0) return DType::kInvalid;
    auto type = dtype_from_number(*number);
    if (!type) reader.problem(at, cat(what, ": no type has number ", *number));
    return type;
  }
  auto text = read_text(reader, what);
  if (!text || reader.failed()) return std::nullopt;
  if (*text == "DT_INVALID") return DType::kInvalid;
  auto type = parse_dtype(*text);
  if (!type) unknown_dtype(reader, at, what, *text);
  return type;
}

std::optional<DType> read_value_dtype(JsonReader& reader, std::string_view what) {
  reader.peek();
  const size_t at = reader.position();
  const std::optional<DType> type = read_dtype(reader, what);
  if (!type || !is_ref(*type)) return type;
  reader.problem(at, cat(what, ": a value cannot be of the reference type ", dtype_enum_name(*type)),
                 cat("write ", dtype_enum_name(base_type(*type))));
  return std::nullopt;
}

std::optional<Shape> read_shape(JsonReader& reader, std::string_view what) {
  switch (reader.peek()) {
    case Kind::kNull:
      reader.take_null();
      return Shape::unknown();
    case Kind::kArray:
      return read_dims(reader, what);
    case Kind::kObject:
      return read_shape_proto(reader, what);
    default:
      expect(reader, Kind::kArray, what);
      return std::nullopt;
  }
}

}  // namespace emplace
