#include "core/formats/utf8.h"

#include <bit>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/base/cat.h"

namespace emplace {

// Table 3-7 of the Unicode standard: only the second byte's range depends on the first.
size_t utf8_sequence(const char* p, const char* end) {
  auto byte = [&](size_t i) { return static_cast<uint8_t>(p[i]); };
  uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  size_t length = lead >= 0xc2 && lead <= 0xdf   ? 2
                  : lead >= 0xe0 && lead <= 0xef ? 3
                  : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                 : 0;
  if (length == 0 || static_cast<size_t>(end - p) < length) return 0;
  uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < low || byte(1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

void append_utf8(std::string& out, uint32_t code) {
  auto trail = [&](int shift) { out += static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    trail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    trail(6), trail(0);
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    trail(12), trail(6), trail(0);
  }
}

std::string shown_character(const char* p, const char* end) {
  const auto c = static_cast<uint8_t>(*p);
  if (c > 0x20 && c < 0x7f) return cat("'", *p, "'");
  if (c >= 0x80) {
    if (const size_t n = utf8_sequence(p, end); n > 0) return cat("'", std::string_view(p, n), "'");
  }
  constexpr char kHex[] = "0123456789abcdef";
  return cat("byte 0x", kHex[c >> 4], kHex[c & 15]);
}

const char* plain_ascii_end(const char* p, const char* end) {
#ifdef __SSE2__
  const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), space = _mm_set1_epi8(0x20);
  for (; end - p >= 16; p += 16) {
    __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    // A signed comparison: control characters and bytes from 0x80 on are both below a space.
    __m128i stop =
        _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, backslash)), _mm_cmplt_epi8(v, space));
    if (auto mask = static_cast<unsigned>(_mm_movemask_epi8(stop))) return p + std::countr_zero(mask);
  }
#endif
  for (; p < end; ++p) {
    if (*p == '"' || *p == '\\' || static_cast<signed char>(*p) < 0x20) return p;
  }
  return end;
}

}  // namespace emplace
