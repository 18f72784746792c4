#include "core/formats/proto/text_writer.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "core/base/cat.h"
#include "core/formats/proto/message_fields.h"

namespace emplace::proto {
namespace {

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '"' || c == '\'' || c == '\\') {
      out += '\\', out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += '\\';
      for (int shift : {6, 3, 0}) out += static_cast<char>('0' + (byte >> shift & 7));
    } else {
      out += c;
    }
  }
  out += '"';
}

template <class T>
void append_real(std::string& out, T value) {
  if (std::isnan(value)) {
    out += "nan";
  } else if (std::isinf(value)) {
    out += value < 0 ? "-inf" : "inf";
  } else {
    char text[40];
    out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
  }
}

void append_number(std::string& out, const Field& field, uint64_t n) {
  switch (field.kind) {
    case Kind::kFloat:
      return append_real(out, std::bit_cast<float>(static_cast<uint32_t>(n)));
    case Kind::kDouble:
      return append_real(out, std::bit_cast<double>(n));
    case Kind::kBool:
      out += n ? "true" : "false";
      return;
    case Kind::kEnum:
      if (std::string_view name = enum_name(field.values(), as_int32(n)); !name.empty()) {
        out += name;
        return;
      }
      append(out, as_int32(n));
      return;
    case Kind::kInt32:
      append(out, as_int32(n));
      return;
    case Kind::kUInt32:
    case Kind::kFixed32:
      append(out, static_cast<uint32_t>(n));
      return;
    case Kind::kUInt64:
    case Kind::kFixed64:
      append(out, n);
      return;
    case Kind::kSInt64:
      append(out, zigzag(n));
      return;
    default:
      append(out, as_int64(n));
  }
}

void write_text_fields(Message message, std::string_view bytes, std::string& out, WireError& error, size_t indent) {
  if (indent > 2 * kMaxDepth)
    return error.set(bytes.data(), cat("more than ", kMaxDepth, " messages inside each other"));
  MessageFields fields(message, bytes, error);
  for (const MessageFields::Found& f : fields.found()) {
    const Field& field = *f.field;
    if (error.failed()) return;
    if (field.kind == Kind::kMessage) {
      std::vector<std::string_view> parts = fields.messages(f);
      if (field.label == Label::kMap) {  // in protobuf's own texts they stand by key
        std::sort(parts.begin(), parts.end(), [](auto a, auto b) { return entry_key(a) < entry_key(b); });
      }
      for (std::string_view part : parts) {
        append(out.append(indent, ' '), field.name, " {\n");
        write_text_fields(field.message(), part, out, error, indent + 2);
        out.append(indent, ' ') += "}\n";
      }
      continue;
    }
    for (std::string_view text : f.pieces) {
      append(out.append(indent, ' '), field.name, ": ");
      append_quoted(out, text);
      out += '\n';
    }
    for (uint64_t n : f.numbers) {
      append(out.append(indent, ' '), field.name, ": ");
      append_number(out, field, n);
      out += '\n';
    }
  }
}

}  // namespace

void write_text(Message message, std::string_view bytes, std::string& out, WireError& error) {
  write_text_fields(message, bytes, out, error, 0);
}

}  // namespace emplace::proto
