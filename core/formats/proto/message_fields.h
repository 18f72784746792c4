/// MessageFields: the contents of one binary message, grouped by field, for writers of other forms. Repeats follow
/// protobuf's rules: a singular message given twice is merged, of a singular number or text the last one counts, of a
/// oneof the last member.
#pragma once

#include <forward_list>
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
  std::forward_list<std::string> merged_;  // messages that stood in pieces
  int64_t unknown_ = 0;
};

/// The last text, or message, of that field; empty: there is none.
std::string_view text_field(std::string_view message, uint32_t field);
/// The text of a map entry's key (numbers as their bytes on the wire).
std::string_view entry_key(std::string_view entry);

}  // namespace emplace::proto
