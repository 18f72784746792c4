#include "core/formats/node_name.h"

#include <array>
#include <cstdint>

#include "core/base/cat.h"
#include "core/base/text_words.h"

namespace emplace {
namespace {

constexpr std::array<bool, 256> kNameCharacter = [] {
  std::array<bool, 256> good{};
  for (int c = 0; c < 256; ++c) {
    good[static_cast<size_t>(c)] = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                                   c == '_' || c == '.' || c == '/' || c == '>' || c == '-';
  }
  return good;
}();

// The same of eight characters.
bool are_name_characters(uint64_t word) {
  if (word & kHighBits) return false;
  const auto within = [](uint64_t bytes, char first, char last) {
    return at_least(bytes, static_cast<uint8_t>(first)) & ~at_least(bytes, static_cast<uint8_t>(last + 1));
  };
  const uint64_t small = word | kEveryByte * ('a' - 'A');  // of a letter, its small one
  const uint64_t good =
      within(word, '-', '9') | within(small, 'a', 'z') | within(word, '>', '>') | within(word, '_', '_');
  return (good & kHighBits) == kHighBits;
}
static_assert('-' + 1 == '.' && '.' + 1 == '/' && '/' + 1 == '0');

/// Of the UTF-8 character that begins there.
size_t character_size(std::string_view text, size_t at) {
  size_t size = 1;
  while (at + size < text.size() && (static_cast<uint8_t>(text[at + size]) & 0xc0) == 0x80) ++size;
  return size;
}

}  // namespace

size_t first_bad_character(std::string_view name) {
  if (!every_word(name, are_name_characters)) {
    for (size_t i = 0; i < name.size(); ++i) {
      if (!kNameCharacter[static_cast<uint8_t>(name[i])]) return i;
    }
  }
  const bool bad_begin = !name.empty() && (name[0] == '/' || name[0] == '>' || name[0] == '-');
  return bad_begin ? 0 : std::string_view::npos;
}

std::string bad_name_message(std::string_view name, size_t bad) {
  return cat("name '", name, "' has a character that names cannot have there: '",
             name.substr(bad, character_size(name, bad)), "'");
}

}  // namespace emplace
