/// WireWriter: protobuf's binary form, appended to a string. A message's length is known when it ends: five bytes are
/// reserved for it, a valid if not the shortest varint; compact_wire() rewrites them as the shortest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/formats/proto/fields.h"
#include "core/formats/proto/wire_reader.h"

namespace emplace::proto {

/// What protobuf reads of one message.
inline constexpr size_t kMostBytes = (size_t{2} << 30) - 1;

class WireWriter {
 public:
  explicit WireWriter(std::string& out) : out_(out) {}

  void varint(uint32_t field, uint64_t value);
  void fixed32(uint32_t field, uint32_t value);
  void fixed64(uint32_t field, uint64_t value);
  void bytes(uint32_t field, std::string_view value);
  /// A number of a field of this kind, as its bits: a float's in the lower 32.
  void number(uint32_t field, Kind kind, uint64_t value);

  /// Where the message's content begins, for end(). Messages may nest.
  size_t begin(uint32_t field);
  void end(size_t begin);

  std::string& out() { return out_; }

 private:
  std::string& out_;
};

/// Appends `message` again as protobuf itself would write it: short lengths, packed lists, known fields only, merged
/// where they stand twice, by number. Returns the number of fields that the table does not have.
int64_t compact_wire(Message message, std::string_view bytes, std::string& out, WireError& error, int depth = 0);

}  // namespace emplace::proto
