/// Unicode: characters of texts in UTF-8, UTF-16-BE and UTF-32-BE, and what is done with those that are none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/op/attr_value.h"

namespace emplace {

enum class Encoding : uint8_t { kUtf8, kUtf16BigEndian, kUtf32BigEndian };

/// Unimplemented for others, of which there are hundreds.
Result<Encoding> encoding_named(const std::string& name);

/// The character that a text begins with, and how many bytes it takes, at least one; nothing: these bytes are none.
struct ReadCharacter {
  std::optional<char32_t> value;
  size_t bytes = 1;
};
/// REQUIRES: `text` is not empty.
ReadCharacter first_character(Encoding encoding, std::string_view text);
/// REQUIRES: is_character(value).
void append_character(Encoding encoding, char32_t value, std::string& out);
/// Not a half of a pair, nor beyond the last.
bool is_character(int64_t value);

/// What becomes of bytes that are no character, and of control characters.
struct CharacterPolicy {
  enum class Errors : uint8_t { kStrict, kReplace, kIgnore };
  Errors errors = Errors::kReplace;
  char32_t replacement = 0xfffd;
  bool replaces_controls = false;

  /// `controls`: the op has the attr replace_control_characters.
  static Result<CharacterPolicy> of(const Attrs& attrs, bool controls);
  /// The character to go on with; nothing: none. InvalidArgument where none is allowed.
  Result<std::optional<char32_t>> judge(std::optional<char32_t> read) const;
};

}  // namespace emplace
