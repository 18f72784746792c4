/// Names and texts of others as a terminal, a table or a page may show them: no byte of theirs acts on what shows it.
#pragma once

#include <string>
#include <string_view>

namespace emplace {

enum class LineEnds { kEscaped, kKept };  // kKept: of a whole text, '\n' and '\t' stay as they are

/// Control characters (the escapes of terminals begin with one), marks that turn the direction of writing, separators
/// of lines, and bytes that are no UTF-8: as "\n", "\x1b", "\u202e". All else stays, a backslash too.
std::string printable(std::string_view text, LineEnds line_ends = LineEnds::kEscaped);

/// A cell of a CSV file: printable(), in quotes where a comma, a quote or a blank at its ends would be misread (RFC
/// 4180). A text that spreadsheets would take for a formula ('=', '+', '-' or '@' at its start) gets a "'" before it,
/// which is how a person enters such a text there, and which they do not show.
std::string csv_cell(std::string_view text);
void append_csv_cell(std::string& out, std::string_view text);

/// Between tags or in an attribute of a page.
std::string html_text(std::string_view text);

}  // namespace emplace
