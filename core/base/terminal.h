/// How wide a terminal is, and sentences that fit it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace emplace {

/// In columns; 0: the file is no terminal.
size_t terminal_width(int file);
/// Lines wider than `width` go on in the next one, four columns to the right, after the last space that fits; a word
/// that is wider stays whole. `indented`: also lines that begin with a space, which may be parts of a file. Width 0, or
/// one too small for sentences: as it is.
std::string wrapped(std::string_view text, size_t width, bool indented);

}  // namespace emplace
