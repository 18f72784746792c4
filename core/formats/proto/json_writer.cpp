#include "core/formats/proto/json_writer.h"

#include <bit>

#include "core/base/base64.h"
#include "core/base/cat.h"
#include "core/formats/proto/message_fields.h"

namespace emplace::proto {
namespace {

void write_json_number(JsonWriter& json, const Field& field, uint64_t n) {
  switch (field.kind) {
    case Kind::kFloat:
      json.value(std::bit_cast<float>(static_cast<uint32_t>(n)));
      break;
    case Kind::kDouble:
      json.value(std::bit_cast<double>(n));
      break;
    case Kind::kBool:
      json.value(n != 0);
      break;
    case Kind::kEnum: {
      std::string_view name = enum_name(field.values(), as_int32(n));
      name.empty() ? json.value(as_int32(n)) : json.value(name);
      break;
    }
    case Kind::kInt32:
      json.value(as_int32(n));
      break;
    case Kind::kUInt32:
    case Kind::kFixed32:
      json.value(static_cast<uint32_t>(n));
      break;
    case Kind::kUInt64:
    case Kind::kFixed64:
      json.value(std::to_string(n));
      break;
    case Kind::kSInt64:
      json.value(std::to_string(zigzag(n)));
      break;
    default:
      json.value(std::to_string(as_int64(n)));
  }
}

void write_map(JsonWriter& json, const Field& field, const std::vector<std::string_view>& entries, WireError& error,
               const WriteInstead& instead, int depth) {
  static constexpr std::string_view kNothing;
  json.begin_object();
  for (std::string_view bytes : entries) {
    MessageFields entry(field.message(), bytes, error);
    const Field& key_field = *find_field(field.message(), "key");
    const Field& value_field = *find_field(field.message(), "value");
    const MessageFields::Found *key = entry.find("key"), *value = entry.find("value");
    if (wire_type(key_field.kind) == WireType::kBytes) {
      json.key(key ? key->pieces.back() : kNothing);
    } else {
      json.key(std::to_string(key ? as_int64(key->numbers.back()) : 0));
    }
    if (value_field.kind == Kind::kMessage) {
      write_json(json, value_field.message(), value ? entry.messages(*value).front() : kNothing, error, instead,
                 depth + 1);
    } else if (value_field.kind == Kind::kString) {
      json.value(value ? value->pieces.back() : kNothing);
    } else {
      write_json_number(json, value_field, value ? value->numbers.back() : 0);
    }
  }
  json.end_object();
}

void write_json_field(JsonWriter& json, MessageFields& fields, const MessageFields::Found& f, WireError& error,
                      const WriteInstead& instead, int depth) {
  const Field& field = *f.field;
  json.key(field.name);
  if (field.label == Label::kMap) return write_map(json, field, fields.messages(f), error, instead, depth);
  if (field.repeated()) json.begin_array();
  if (field.kind == Kind::kMessage) {
    for (std::string_view part : fields.messages(f)) write_json(json, field.message(), part, error, instead, depth + 1);
  } else {
    for (std::string_view text : f.pieces)
      field.kind == Kind::kBytes ? json.value(encode_base64(text)) : json.value(text);
    for (uint64_t n : f.numbers) write_json_number(json, field, n);
  }
  if (field.repeated()) json.end_array();
}

}  // namespace

void write_json_members(JsonWriter& json, Message message, std::string_view bytes, WireError& error,
                        const WriteInstead& instead, int depth) {
  if (depth > kMaxDepth) return error.set(bytes.data(), cat("more than ", kMaxDepth, " messages inside each other"));
  MessageFields fields(message, bytes, error);
  for (const MessageFields::Found& f : fields.found()) write_json_field(json, fields, f, error, instead, depth);
}

void write_json(JsonWriter& json, Message message, std::string_view bytes, WireError& error,
                const WriteInstead& instead, int depth) {
  if (instead && instead(json, message, bytes)) return;
  json.begin_object();
  if (message == Message::kNodeDef) json.compact();
  write_json_members(json, message, bytes, error, instead, depth);
  json.end_object();
}

}  // namespace emplace::proto
