/// MessageFields: what one binary message says, by field: for those who write any message again and need all of a
/// field at once. Messages that stand twice are one, of numbers and texts that may stand once the last counts, of the
/// members of a oneof the last.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/proto/fields.h"
#include "core/formats/proto/wire_reader.h"

namespace emplace::proto {

class MessageFields {
 public:
  /// REQUIRES: `bytes` and `error` outlive it.
  MessageFields(Message message, std::string_view bytes, WireError& error);

  struct Found {
    const Field* field;
    std::vector<std::string_view> pieces;  // of texts and messages, as they stand
    std::vector<uint64_t> numbers;         // the bits of all others
  };
  /// By number.
  const std::vector<Found>& found() const { return found_; }
  const Found* find(std::string_view name) const;
  int64_t num_unknown() const { return unknown_; }

  /// The messages of a field.
  std::vector<std::string_view> messages(const Found& f);
  /// Entries of a map, the last of each key, in the order of their first.
  std::vector<std::string_view> entries(const Found& f) const;

 private:
  Found& at(const Field& field);

  std::vector<Found> found_;
  std::deque<std::string> merged_;  // messages that stood in pieces
  int64_t unknown_ = 0;
};

/// The text of a map entry's key (numbers as their bytes on the wire).
std::string_view entry_key(std::string_view entry);

}  // namespace emplace::proto
