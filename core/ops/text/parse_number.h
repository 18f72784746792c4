/// Numbers in texts, as TensorFlow reads them: white space around them, a sign, nothing else beside them.
#pragma once

#include <optional>
#include <string_view>

namespace emplace {

/// T: int32_t, int64_t, uint32_t, uint64_t, float or double. Nothing: no such number, or one that T cannot hold; a
/// floating-point number that is too large is infinite.
template <class T>
std::optional<T> parse_number(std::string_view text);

}  // namespace emplace
