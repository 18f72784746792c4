#include "core/formats/proto/wire_writer.h"

#include <cstring>
#include <iterator>
#include <protozero/varint.hpp>

#include "core/base/cat.h"
#include "core/formats/proto/message_fields.h"

namespace emplace::proto {
namespace {

constexpr size_t kLengthBytes = 5;

void add_varint(std::string& out, uint64_t value) { protozero::write_varint(std::back_inserter(out), value); }

void add_tag(std::string& out, uint32_t field, WireType type) {
  add_varint(out, uint64_t{field} << 3 | static_cast<uint64_t>(type));
}

}  // namespace

void WireWriter::varint(uint32_t field, uint64_t value) {
  add_tag(out_, field, WireType::kVarint);
  add_varint(out_, value);
}

void WireWriter::fixed32(uint32_t field, uint32_t value) {
  add_tag(out_, field, WireType::kFixed32);
  out_.append(reinterpret_cast<const char*>(&value), 4);
}

void WireWriter::fixed64(uint32_t field, uint64_t value) {
  add_tag(out_, field, WireType::kFixed64);
  out_.append(reinterpret_cast<const char*>(&value), 8);
}

void WireWriter::bytes(uint32_t field, std::string_view value) {
  add_tag(out_, field, WireType::kBytes);
  add_varint(out_, value.size());
  out_.append(value);
}

void WireWriter::number(uint32_t field, Kind kind, uint64_t value) {
  switch (wire_type(kind)) {
    case WireType::kFixed32:
      return fixed32(field, static_cast<uint32_t>(value));
    case WireType::kFixed64:
      return fixed64(field, value);
    default:
      return varint(field, value);
  }
}

size_t WireWriter::begin(uint32_t field) {
  add_tag(out_, field, WireType::kBytes);
  out_.append(kLengthBytes, '\0');
  return out_.size();
}

void WireWriter::end(size_t begin) {
  uint64_t size = out_.size() - begin;
  for (size_t i = 0; i < kLengthBytes; ++i, size >>= 7)
    out_[begin - kLengthBytes + i] = static_cast<char>((size & 0x7f) | (i + 1 < kLengthBytes ? 0x80 : 0));
}

int64_t compact_wire(Message message, std::string_view bytes, std::string& out, WireError& error, int depth) {
  if (depth > kMaxDepth) {
    error.set(bytes.data(), cat("more than ", kMaxDepth, " messages inside each other"));
    return 0;
  }
  MessageFields fields(message, bytes, error);
  int64_t unknown = fields.num_unknown();
  WireWriter writer(out);
  std::string inner;
  for (const MessageFields::Found& f : fields.found()) {
    const Field& field = *f.field;
    if (field.kind == Kind::kMessage) {
      for (std::string_view part : fields.messages(f)) {
        inner.clear();
        unknown += compact_wire(field.message(), part, inner, error, depth + 1);
        writer.bytes(field.number, inner);
      }
    } else if (field.kind == Kind::kString || field.kind == Kind::kBytes) {
      for (std::string_view text : f.pieces) writer.bytes(field.number, text);
    } else if (field.label == Label::kPacked) {
      inner.clear();
      const WireType type = wire_type(field.kind);
      for (uint64_t n : f.numbers) {
        if (type == WireType::kVarint) {
          add_varint(inner, n);
        } else {
          inner.append(reinterpret_cast<const char*>(&n), type == WireType::kFixed32 ? 4 : 8);
        }
      }
      writer.bytes(field.number, inner);
    } else {
      for (uint64_t n : f.numbers) writer.number(field.number, field.kind, n);
    }
    if (error.failed()) return unknown;
  }
  return unknown;
}

}  // namespace emplace::proto
