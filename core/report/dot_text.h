/// Texts in Graphviz's language.
#pragma once

#include <string>
#include <string_view>

namespace emplace {

/// printable(), in quotes.
std::string dot_text(std::string_view text);

}  // namespace emplace
