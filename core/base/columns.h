/// Columns: a text table whose lines are written one by one, when the widths of all cells are known. On a terminal
/// lines that are too long are made to fit: the middle of long cells is left out, never a column's alignment.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// The whole table, where all lines are there.
std::string table_text(std::vector<std::string> header, const std::vector<std::vector<std::string>>& lines,
                       size_t line_width);

class Columns {
 public:
  /// `line_width`: of the terminal; 0: lines may be as long as they are.
  Columns(std::vector<std::string> header, size_t line_width);

  /// Before the first line: a cell that the column will have. The last column need not be seen.
  void see(size_t column, std::string_view cell);
  /// The first line, and from now on the widths are what they are.
  void add_header(std::string& out);
  void add(std::string& out, std::span<const std::string> cells) const;

 private:
  void fit();

  const std::vector<std::string> header_;
  const size_t line_width_;
  std::vector<size_t> widths_;  // on a terminal
};

}  // namespace emplace
