/// ObjectReader: the members of one JSON object whose keys are known, as field numbers. Keys may be written in
/// snake_case or lowerCamelCase; unknown and repeated keys are problems; null means "not there".
///
///   enum { kName, kOp };
///   static constexpr std::string_view kKeys[] = {"name", "op"};
///   for (ObjectReader object(reader, kKeys, "a node"); object.next();) switch (object.field()) { case kName: ... }
///
/// A value that the loop does not take is skipped.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/formats/json_reader.h"

namespace emplace {

/// Is `key` the snake_case name `field`, or its lowerCamelCase?
bool same_key(std::string_view key, std::string_view field);

class ObjectReader {
 public:
  /// If the next value is no object, that is a problem, the value is skipped, and next() is false. `what` goes into
  /// messages. `about_keys` helps with an unknown key that is like none; empty: a list of the keys, if they are few.
  /// REQUIRES: at most 64 keys.
  ObjectReader(JsonReader& reader, std::span<const std::string_view> keys, const char* what,
               std::string_view about_keys = {});

  bool next();
  /// Is there an object at all?
  bool open() const { return open_; }
  /// Index in `keys`.
  int field() const { return field_; }
  std::string_view key() const { return key_; }
  size_t key_position() const { return key_position_; }
  /// Was this field in what has been read?
  bool has(int field) const { return (seen_ >> field) & 1; }
  /// Where the object begins.
  size_t position() const { return start_; }

 private:
  int find(std::string_view key);
  [[gnu::cold]] void unknown_key();
  [[gnu::cold]] void repeated_key();

  JsonReader& reader_;
  std::span<const std::string_view> keys_;
  const char* what_;
  std::string_view about_keys_;
  size_t start_ = 0;
  std::string_view key_;
  size_t key_position_ = 0;
  size_t value_position_ = 0;
  uint64_t seen_ = 0;
  int field_ = -1;
  bool open_ = false;
};

/// If the next value is of this kind: true, and the caller takes it. Else a problem ("`what`: found text, wanted a
/// number"), the value is skipped, and false.
bool expect(JsonReader& reader, JsonReader::Kind kind, std::string_view what);

}  // namespace emplace
