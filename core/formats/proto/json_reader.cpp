#include "core/formats/proto/json_reader.h"

#include <bit>
#include <charconv>
#include <optional>

#include "core/formats/object_reader.h"
#include "core/formats/value_reader.h"

namespace emplace::proto {
namespace {

using Next = JsonReader::Kind;

bool read_json_value(const Field& field, JsonReader& reader, WireWriter& wire);

const Field* field_of_key(Message message, std::string_view key) {
  if (const Field* field = find_field(message, key)) return field;
  for (const Field& field : fields_of(message)) {
    if (same_key(key, field.name)) return &field;
  }
  return nullptr;
}

std::optional<uint64_t> digits_of(std::string_view text) {
  uint64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

template <class T>
bool put(WireWriter& wire, const Field& field, const std::optional<T>& value) {
  if (value) wire.number(field.number, field.kind, static_cast<uint64_t>(*value));
  return value.has_value();
}

bool read_json_enum(const Field& field, JsonReader& reader, WireWriter& wire) {
  if (reader.peek() != Next::kString) return put(wire, field, read_integer(reader, "", INT32_MIN, INT32_MAX));
  int64_t number = 0;
  if (!enum_number(field.values(), reader.take_string(), number)) return false;
  return wire.varint(field.number, static_cast<uint64_t>(number)), true;
}

bool read_json_map(const Field& field, JsonReader& reader, WireWriter& wire) {
  if (reader.peek() != Next::kObject) return false;
  const Field& key_field = *find_field(field.message(), "key");
  const Field& value_field = *find_field(field.message(), "value");
  reader.enter_object();
  for (std::string_view key; reader.next_key(key);) {
    const size_t begin = wire.begin(field.number);
    if (wire_type(key_field.kind) == WireType::kBytes) {
      wire.bytes(key_field.number, key);
    } else {
      const std::optional<uint64_t> number = digits_of(key);
      if (!number) return false;
      wire.varint(key_field.number, *number);
    }
    if (!read_json_value(value_field, reader, wire)) return false;
    wire.end(begin);
  }
  return !reader.failed();
}

bool read_json_value(const Field& field, JsonReader& reader, WireWriter& wire) {
  switch (field.kind) {
    case Kind::kMessage: {
      const size_t begin = wire.begin(field.number);
      if (!read_json(field.message(), reader, wire, nullptr)) return false;
      wire.end(begin);
      return true;
    }
    case Kind::kString: {
      if (reader.peek() != Next::kString) return false;
      wire.bytes(field.number, reader.take_string());
      return !reader.failed();
    }
    case Kind::kBytes: {
      const Next kind = reader.peek();
      if (kind != Next::kString && kind != Next::kArray) return false;
      const std::optional<std::string> bytes = read_bytes(reader, "");
      if (bytes) wire.bytes(field.number, *bytes);
      return bytes.has_value();
    }
    case Kind::kBool: {
      if (reader.peek() != Next::kBool) return false;
      wire.varint(field.number, reader.take_bool());
      return !reader.failed();
    }
    case Kind::kFloat: {
      const std::optional<float> value = read_float(reader, "");
      if (value) wire.fixed32(field.number, std::bit_cast<uint32_t>(*value));
      return value.has_value();
    }
    case Kind::kDouble: {
      const std::optional<double> value = read_double(reader, "");
      if (value) wire.fixed64(field.number, std::bit_cast<uint64_t>(*value));
      return value.has_value();
    }
    case Kind::kEnum:
      return read_json_enum(field, reader, wire);
    case Kind::kUInt64:
    case Kind::kFixed64: {
      // Beyond int64 a number stands in quotes.
      if (reader.peek() != Next::kString) return put(wire, field, read_integer(reader, "", 0));
      const std::optional<uint64_t> number = digits_of(reader.take_string());
      return put(wire, field, number);
    }
    case Kind::kUInt32:
    case Kind::kFixed32:
      return put(wire, field, read_integer(reader, "", 0, UINT32_MAX));
    case Kind::kInt32:
      return put(wire, field, read_integer(reader, "", INT32_MIN, INT32_MAX));
    case Kind::kSInt64: {
      const std::optional<int64_t> n = read_integer(reader, "");
      if (n) wire.varint(field.number, static_cast<uint64_t>(*n) << 1 ^ static_cast<uint64_t>(*n >> 63));
      return n.has_value();
    }
    default:
      return put(wire, field, read_integer(reader, ""));
  }
}

bool read_json_field(const Field& field, JsonReader& reader, WireWriter& wire) {
  if (reader.peek() == Next::kNull) return reader.take_null(), true;
  if (field.label == Label::kMap) return read_json_map(field, reader, wire);
  if (!field.repeated()) return read_json_value(field, reader, wire);
  if (reader.peek() != Next::kArray) return false;
  reader.enter_array();
  while (reader.next_element()) {
    if (!read_json_value(field, reader, wire)) return false;
  }
  return !reader.failed();
}

}  // namespace

bool read_json(Message message, JsonReader& reader, WireWriter& wire, OtherKeys* others) {
  if (reader.peek() != Next::kObject || reader.depth() > 4 * kMaxDepth) return false;
  reader.enter_object();
  for (std::string_view key; reader.next_key(key);) {
    const Field* field = field_of_key(message, key);
    if (!field && others) {
      std::string name(key);
      others->emplace_back(std::move(name), reader.skip());
    } else if (!field || !read_json_field(*field, reader, wire)) {
      return false;
    }
  }
  return !reader.failed() && reader.problems().empty();
}

}  // namespace emplace::proto
