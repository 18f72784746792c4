#include "core/ops/text/unicode.h"

#include "core/base/cat.h"

namespace emplace {
namespace {

uint32_t byte_at(std::string_view text, size_t i) { return static_cast<uint8_t>(text[i]); }

uint32_t big_endian(std::string_view text, size_t bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value = value << 8 | byte_at(text, i);
  return value;
}

// What is broken ends before the first byte that cannot go on (Unicode's "maximal subpart"), as ICU has it.
ReadCharacter first_of_utf8(std::string_view text) {
  const uint32_t lead = byte_at(text, 0);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xc2 && lead < 0xe0   ? 2
                        : lead >= 0xe0 && lead < 0xf0 ? 3
                        : lead >= 0xf0 && lead < 0xf5 ? 4
                                                      : 0;
  if (length == 0) return {};
  uint32_t value = lead & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if (i >= text.size()) return {std::nullopt, i};
    const uint32_t next = byte_at(text, i);
    // The second byte tells overlong forms, halves of pairs and what lies beyond the last character.
    const uint32_t low = i > 1 ? 0x80 : lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const uint32_t high = i > 1 ? 0xbf : lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (next < low || next > high) return {std::nullopt, i};
    value = value << 6 | (next & 0x3f);
  }
  return {value, length};
}

ReadCharacter first_of_utf16(std::string_view text) {
  if (text.size() < 2) return {std::nullopt, text.size()};
  const uint32_t unit = big_endian(text, 2);
  if (unit < 0xd800 || unit > 0xdfff) return {unit, 2};
  if (unit > 0xdbff) return {std::nullopt, 2};
  if (text.size() < 4) return {std::nullopt, text.size()};
  const uint32_t low = big_endian(text.substr(2), 2);
  if (low < 0xdc00 || low > 0xdfff) return {std::nullopt, 2};
  return {0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00), 4};
}

ReadCharacter first_of_utf32(std::string_view text) {
  if (text.size() < 4) return {std::nullopt, text.size()};
  const uint32_t value = big_endian(text, 4);
  return is_character(value) ? ReadCharacter{value, 4} : ReadCharacter{std::nullopt, 4};
}

void append_bytes(uint32_t value, int bytes, std::string& out) {
  for (int i = bytes - 1; i >= 0; --i) out.push_back(static_cast<char>(value >> (8 * i)));
}

void append_utf8(uint32_t value, std::string& out) {
  const int more = value < 0x80 ? 0 : value < 0x800 ? 1 : value < 0x10000 ? 2 : 3;
  constexpr uint32_t kLead[] = {0, 0xc0, 0xe0, 0xf0};
  out.push_back(static_cast<char>(kLead[more] | value >> (6 * more)));
  for (int i = more - 1; i >= 0; --i) out.push_back(static_cast<char>(0x80 | ((value >> (6 * i)) & 0x3f)));
}

}  // namespace

Result<Encoding> encoding_named(const std::string& name) {
  if (name == "UTF-8") return Encoding::kUtf8;
  if (name == "UTF-16-BE" || name == "UTF-16BE") return Encoding::kUtf16BigEndian;
  if (name == "UTF-32-BE" || name == "UTF-32BE") return Encoding::kUtf32BigEndian;
  return unimplemented(cat("the encoding '", name, "'; UTF-8, UTF-16-BE and UTF-32-BE are known"));
}

ReadCharacter first_character(Encoding encoding, std::string_view text) {
  switch (encoding) {
    case Encoding::kUtf16BigEndian:
      return first_of_utf16(text);
    case Encoding::kUtf32BigEndian:
      return first_of_utf32(text);
    default:
      return first_of_utf8(text);
  }
}

void append_character(Encoding encoding, char32_t value, std::string& out) {
  if (encoding == Encoding::kUtf8) {
    append_utf8(value, out);
  } else if (encoding == Encoding::kUtf32BigEndian) {
    append_bytes(value, 4, out);
  } else if (value < 0x10000) {
    append_bytes(value, 2, out);
  } else {
    append_bytes(0xd800 + ((value - 0x10000) >> 10), 2, out);
    append_bytes(0xdc00 + ((value - 0x10000) & 0x3ff), 2, out);
  }
}

bool is_character(int64_t value) { return value >= 0 && value <= 0x10ffff && (value < 0xd800 || value > 0xdfff); }

Result<CharacterPolicy> CharacterPolicy::of(const Attrs& attrs, bool controls) {
  CharacterPolicy policy;
  const std::string& errors = attrs.text("errors");
  policy.errors = errors == "strict" ? Errors::kStrict : errors == "ignore" ? Errors::kIgnore : Errors::kReplace;
  const int64_t replacement = attrs.integer("replacement_char");
  if (!is_character(replacement)) return invalid_argument("replacement_char out of unicode codepoint range");
  policy.replacement = static_cast<char32_t>(replacement);
  policy.replaces_controls = controls && attrs.flag("replace_control_characters");
  return policy;
}

Result<std::optional<char32_t>> CharacterPolicy::judge(std::optional<char32_t> read) const {
  if (!read && errors == Errors::kStrict) return invalid_argument("Invalid formatting on input string");
  if (read && !(replaces_controls && *read <= 0x1f)) return read;
  if (errors == Errors::kIgnore) return std::optional<char32_t>();
  return std::optional<char32_t>(replacement);
}

}  // namespace emplace
