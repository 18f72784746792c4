/// Questions about all bytes of a text, eight at a time: names are short and many, and nearly every byte is a plain
/// one.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace emplace {

inline constexpr uint64_t kEveryByte = 0x0101010101010101u;  // times a byte: eight of it
inline constexpr uint64_t kHighBits = 0x80 * kEveryByte;

/// Is `holds(word)` true of every word of the text? A word is eight bytes of it, in no promised order, some of them
/// twice where the text is no multiple of eight long. An empty text has none.
template <class Holds>
bool every_word(std::string_view text, const Holds& holds) {
  const char* p = text.data();
  const size_t n = text.size();
  const auto load = [p](size_t at, auto word) {
    std::memcpy(&word, p + at, sizeof word);
    return uint64_t{word};
  };
  if (n >= 8) {
    for (size_t at = 0; at + 8 < n; at += 8) {
      if (!holds(load(at, uint64_t{}))) return false;
    }
    return holds(load(n - 8, uint64_t{}));
  }
  if (n >= 4) return holds(load(0, uint32_t{}) << 32 | load(n - 4, uint32_t{}));
  if (n == 0) return true;
  const uint64_t first = load(0, uint8_t{}), middle = load(n / 2, uint8_t{}), last = load(n - 1, uint8_t{});
  return holds(first * (kEveryByte << 16) | middle << 8 | last);
}

/// The high bit of every byte that is at least `least`. REQUIRES: no byte of the word is above 0x7f.
constexpr uint64_t at_least(uint64_t word, uint8_t least) { return word + kEveryByte * (0x80u - least); }

/// Is no byte of the word this character? REQUIRES: no byte is above 0x7f.
constexpr bool lacks(uint64_t word, char c) {
  return (((word ^ (kEveryByte * static_cast<uint8_t>(c))) - kEveryByte) & kHighBits) == 0;
}

/// Are all bytes from ' ' to '~'? A carry or borrow between bytes begins at one that is not.
constexpr bool is_printable_ascii(uint64_t word) {
  return ((word | (word + kEveryByte) | (word - kEveryByte * ' ')) & kHighBits) == 0;
}

}  // namespace emplace
