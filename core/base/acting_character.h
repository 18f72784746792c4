/// What acts on whatever shows it, instead of being shown.
#pragma once

#include <cstdint>

namespace emplace {

/// Control characters, marks that turn the direction of writing, separators of lines, what has no width. `code`: of
/// Unicode.
constexpr bool is_acting(uint32_t code) {
  const auto within = [&](uint32_t first, uint32_t last) { return code >= first && code <= last; };
  constexpr uint32_t kArabicMark = 0x61c, kSoftHyphen = 0xad, kByteOrderMark = 0xfeff;
  return code < 0x20 || within(0x7f, 0x9f) || code == kSoftHyphen || code == kArabicMark || within(0x200b, 0x200f) ||
         within(0x2028, 0x202e) || within(0x2060, 0x206f) || code == kByteOrderMark;
}

}  // namespace emplace
