/// WireReader: walks the fields of one message in protobuf's binary form, over bytes that somebody else keeps. Every
/// length is checked against the bytes there are before it is used.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/formats/proto/fields.h"

namespace emplace::proto {

/// What is wrong with the bytes, and where: the first error of all readers that share it.
struct WireError {
  const char* at = nullptr;
  std::string message;  // "a length of 4294967295 with 212 bytes left"

  bool failed() const { return at != nullptr; }
  void set(const char* where, std::string what) {
    if (!at) at = where, message = std::move(what);
  }
};

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

/// How a field of that kind stands on the wire; numbers may also be packed.
WireType wire_type(Kind kind);

/// Messages inside each other that are still read.
inline constexpr int kMaxDepth = 100;

class WireReader {
 public:
  WireReader(std::string_view message, WireError& error)
      : p_(message.data()), end_(message.data() + message.size()), error_(error) {}

  /// The next field; false at the end and after an error. Groups are passed over.
  bool next() {
    // Nearly all fields of a graph: bytes, with a tag and a length of one byte each.
    if (end_ - p_ >= 2) {
      const auto tag = static_cast<uint8_t>(p_[0]), size = static_cast<uint8_t>(p_[1]);
      if ((tag & 0x87) == static_cast<uint8_t>(WireType::kBytes) && tag > 7 && size < 0x80 && size <= end_ - p_ - 2) {
        tag_at_ = p_;
        field_ = tag >> 3;
        type_ = WireType::kBytes;
        bytes_ = {p_ + 2, size};
        p_ += 2 + size;
        return true;
      }
    }
    return next_of_any_kind();
  }

  uint32_t field() const { return field_; }
  WireType type() const { return type_; }
  bool is(uint32_t field, WireType type) const { return field_ == field && type_ == type; }
  /// Where the field's tag stands.
  const char* tag_at() const { return tag_at_; }
  /// Behind the field.
  const char* end_at() const { return p_; }
  /// The field as it stands, tag and all.
  std::string_view whole() const { return {tag_at_, static_cast<size_t>(p_ - tag_at_)}; }

  /// REQUIRES: type() is not kBytes.
  uint64_t number() const { return number_; }
  /// REQUIRES: type() is kBytes.
  std::string_view bytes() const { return bytes_; }

  /// The numbers of a repeated field, which stand one by one or packed; a wire type that cannot be is passed over.
  template <class F>
  void numbers(WireType each, const F& take) {
    if (type_ == each) return take(number_);
    if (type_ != WireType::kBytes) return;
    WireReader packed(bytes_, error_);
    while (packed.next_packed(each)) take(packed.number_);
  }
  /// How many numbers() there are at most.
  size_t count_numbers(WireType each) const;

 private:
  bool next_of_any_kind();
  bool next_packed(WireType each);
  bool varint(uint64_t& out);
  bool fixed(size_t size);
  bool skip_group(uint32_t field, int depth);
  bool fail(const char* at, std::string message);

  const char* p_;
  const char* end_;
  WireError& error_;
  const char* tag_at_ = nullptr;
  uint32_t field_ = 0;
  WireType type_ = WireType::kVarint;
  uint64_t number_ = 0;
  std::string_view bytes_;
};

/// "int64" of a varint as protobuf has it: two's complement.
inline int64_t as_int64(uint64_t number) { return static_cast<int64_t>(number); }
inline int32_t as_int32(uint64_t number) { return static_cast<int32_t>(static_cast<uint32_t>(number)); }
inline int64_t zigzag(uint64_t n) { return static_cast<int64_t>(n >> 1) ^ -static_cast<int64_t>(n & 1); }

}  // namespace emplace::proto
