/// Base64 as protobuf's JSON mapping has it: both alphabets, padded or not.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace emplace {

/// Nothing if a character is of neither alphabet or the length is impossible.
std::optional<std::string> decode_base64(std::string_view text);

/// The standard alphabet, padded.
std::string encode_base64(std::string_view bytes);

}  // namespace emplace
