/// How wide a text is on a terminal: an East Asian character and a picture take two columns, an accent that joins the
/// letter before it takes none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace emplace {

/// Columns of a UTF-8 text; a byte that is none counts as one.
size_t text_width(std::string_view text);
/// At most `width` columns of it, with "..." where the middle was. REQUIRES: width >= 5.
std::string without_middle(std::string_view text, size_t width);
/// What fits into `head` columns of its beginning and `tail` of its end, with `dots` between.
std::string elided(std::string_view text, size_t head, std::string_view dots, size_t tail);

}  // namespace emplace
