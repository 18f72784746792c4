/// What is wrong with a JSON text that the JSON library refuses.
#pragma once

#include <string>
#include <string_view>

namespace emplace {

/// "README.md:1:1: not JSON: invalid literal; last read: '#'". `what`: the library's message.
std::string json_error_text(std::string_view origin, std::string_view what);

}  // namespace emplace
