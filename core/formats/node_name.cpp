#include "core/formats/node_name.h"

#include <array>
#include <cstdint>

#include "core/base/cat.h"

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

/// Of the UTF-8 character that begins there.
size_t character_size(std::string_view text, size_t at) {
  size_t size = 1;
  while (at + size < text.size() && (static_cast<uint8_t>(text[at + size]) & 0xc0) == 0x80) ++size;
  return size;
}

}  // namespace

size_t first_bad_character(std::string_view name) {
  for (size_t i = 0; i < name.size(); ++i) {
    if (!kNameCharacter[static_cast<uint8_t>(name[i])]) return i;
  }
  return name.find_first_of("/>-") == 0 ? 0 : std::string_view::npos;
}

std::string bad_name_message(std::string_view name, size_t bad) {
  return cat("name '", name, "' has a character that names cannot have there: '",
             name.substr(bad, character_size(name, bad)), "'");
}

}  // namespace emplace
