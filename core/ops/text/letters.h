/// Letters of Unicode: their other case, and the script that a character is of. Of Unicode 13, which TensorFlow 2.21
/// knows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace emplace {

/// The text, which is UTF-8 up to its first zero byte, in the other case, as ICU has it without a language's own rules:
/// one letter may become several, and a sigma that ends a word is another one. Bytes that are no character become
/// U+FFFD.
std::string upper_of_utf8(std::string_view text);
std::string lower_of_utf8(std::string_view text);

/// ICU's number of the character's script (UScriptCode): 103 where there is none, -1 for what is no character.
int script_of(int64_t character);

}  // namespace emplace
