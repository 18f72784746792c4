/// UTF-8, as far as a JSON reader needs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace emplace {

/// Bytes of the well-formed sequence at `p`, which is not the end; 0 if there is none (overlong forms, surrogates and
/// what lies beyond U+10FFFF included).
size_t utf8_sequence(const char* p, const char* end);

/// REQUIRES: a Unicode scalar value.
void append_utf8(std::string& out, uint32_t code);

/// As messages show what is at `p`, which is not the end: "'é'", "byte 0x07".
std::string shown_character(const char* p, const char* end);

/// The first byte from `p` on that is '"', '\\', a control character or not ASCII; `end` if there is none.
const char* plain_ascii_end(const char* p, const char* end);

}  // namespace emplace
