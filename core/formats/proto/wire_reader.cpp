#include "core/formats/proto/wire_reader.h"

#include <algorithm>
#include <cstring>
#include <protozero/exception.hpp>
#include <protozero/varint.hpp>

#include "core/base/cat.h"

namespace emplace::proto {

WireType wire_type(Kind kind) {
  switch (kind) {
    case Kind::kFloat:
    case Kind::kFixed32:
      return WireType::kFixed32;
    case Kind::kDouble:
    case Kind::kFixed64:
      return WireType::kFixed64;
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kMessage:
      return WireType::kBytes;
    default:
      return WireType::kVarint;
  }
}

bool WireReader::fail(const char* at, std::string message) {
  error_.set(at, std::move(message));
  p_ = end_;
  return false;
}

// The one place where protozero's exceptions become errors of ours.
bool WireReader::varint(uint64_t& out) {
  if (p_ != end_ && static_cast<uint8_t>(*p_) < 0x80) return out = static_cast<uint8_t>(*p_++), true;
  const char* start = p_;
  try {
    out = protozero::decode_varint(&p_, end_);
    return true;
  } catch (const protozero::end_of_buffer_exception&) {
    return fail(start, "the bytes end inside a number");
  } catch (const protozero::varint_too_long_exception&) {
    return fail(start, "a number of more than 10 bytes");
  }
}

bool WireReader::fixed(size_t size) {
  if (static_cast<size_t>(end_ - p_) < size)
    return fail(p_, cat("a number of ", size, " bytes with ", end_ - p_, " left"));
  number_ = 0;
  std::memcpy(&number_, p_, size);
  p_ += size;
  return true;
}

bool WireReader::skip_group(uint32_t field, int depth) {
  if (depth > kMaxDepth) return fail(tag_at_, cat("more than ", kMaxDepth, " groups inside each other"));
  for (;;) {
    const char* at = p_;
    uint64_t tag = 0;
    if (p_ == end_) return fail(at, "a group that does not end");
    if (!varint(tag)) return false;
    switch (tag & 7) {
      case 0:
        if (!varint(number_)) return false;
        break;
      case 1:
        if (!fixed(8)) return false;
        break;
      case 2: {
        uint64_t size = 0;
        if (!varint(size)) return false;
        if (size > static_cast<uint64_t>(end_ - p_))
          return fail(at, cat("a length of ", size, " with ", end_ - p_, " bytes left"));
        p_ += size;
        break;
      }
      case 3:
        if (!skip_group(static_cast<uint32_t>(tag >> 3), depth + 1)) return false;
        break;
      case 4:
        return tag >> 3 == field || fail(at, "the end of a group that did not begin");
      case 5:
        if (!fixed(4)) return false;
        break;
      default:
        return fail(at, cat("a field of wire type ", tag & 7, ", which there is not"));
    }
  }
}

bool WireReader::next_of_any_kind() {
  while (p_ != end_) {
    tag_at_ = p_;
    uint64_t tag = 0;
    if (!varint(tag)) return false;
    field_ = static_cast<uint32_t>(tag >> 3);
    if (field_ == 0 || tag >> 3 >= uint64_t{1} << 29)
      return fail(tag_at_, cat("a field of number ", tag >> 3, ", which there is not"));
    type_ = static_cast<WireType>(tag & 7);
    switch (tag & 7) {
      case 0:
        return varint(number_);
      case 1:
        return fixed(8);
      case 2: {
        const char* at = p_;
        uint64_t size = 0;
        if (!varint(size)) return false;
        if (size > static_cast<uint64_t>(end_ - p_))
          return fail(at, cat("a length of ", size, " with ", end_ - p_, " bytes left"));
        bytes_ = {p_, static_cast<size_t>(size)};
        p_ += size;
        return true;
      }
      case 3:
        if (!skip_group(field_, 1)) return false;
        continue;
      case 4:
        return fail(tag_at_, "the end of a group that did not begin");
      case 5:
        return fixed(4);
      default:
        return fail(tag_at_, cat("a field of wire type ", tag & 7, ", which there is not"));
    }
  }
  return false;
}

bool WireReader::next_packed(WireType each) {
  if (p_ == end_) return false;
  if (each == WireType::kVarint) return varint(number_);
  return fixed(each == WireType::kFixed32 ? 4 : 8);
}

size_t WireReader::count_numbers(WireType each) const {
  if (type_ == each) return 1;
  if (type_ != WireType::kBytes) return 0;
  if (each != WireType::kVarint) return bytes_.size() / (each == WireType::kFixed32 ? 4 : 8);
  return static_cast<size_t>(
      std::count_if(bytes_.begin(), bytes_.end(), [](char c) { return static_cast<uint8_t>(c) < 0x80; }));
}

}  // namespace emplace::proto
