/// The rule of node names.
#pragma once

#include <string>
#include <string_view>

namespace emplace {

/// [A-Za-z0-9.][A-Za-z0-9_./>-]*; names of TensorFlow's own additions, and in function bodies, may begin with '_'.
/// Where the first character stands that breaks it; npos: the name is good.
size_t first_bad_character(std::string_view name);

/// "name 'a b' has a character ...", and the hint. REQUIRES: `bad` is of first_bad_character().
std::string bad_name_message(std::string_view name, size_t bad);
inline constexpr std::string_view kNameRule =
    "names are letters, digits and _ . / > -, and begin with a letter, a digit or a dot";

}  // namespace emplace
