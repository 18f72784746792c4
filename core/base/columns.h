/// Columns: a text table whose lines are written one by one, when the widths of all cells are known. On a terminal
/// lines that are too long are made to fit: the middle of long cells is left out, then whole columns, those that say
/// nothing first, then the last ones; the header ends with "..." then. A column's alignment stays.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

class Columns {
 public:
  static constexpr size_t kNone = ~size_t{0};

  /// `line_width`: of the terminal; 0: lines may be as long as they are. From column `right_from` on, cells are at
  /// the right of theirs.
  Columns(std::vector<std::string> header, size_t line_width, size_t right_from = kNone);

  /// Before the first line: a cell that the column will have. A last column that is not seen gets what the others
  /// leave.
  void see(size_t column, std::string_view cell);
  /// The first line, and from now on the widths are what they are.
  void add_header(std::string& out);
  void add(std::string& out, std::span<const std::string> cells) const;

 private:
  struct Column {
    size_t width = 0, wanted = 0;
    bool is_seen = false, says = false;  // says: has a cell that is neither empty nor "-"
    bool is_shown = true;
  };
  size_t total() const;
  bool fits() const { return total() <= line_width_; }
  template <class F>
  void shrink(const F& least);
  void leave_out_silent();
  void fit();

  const std::vector<std::string> header_;
  const size_t line_width_, right_from_;
  std::vector<Column> columns_;
  bool all_shown_ = true;
};

/// The whole table, where all lines are there.
std::string table_text(std::vector<std::string> header, const std::vector<std::vector<std::string>>& lines,
                       size_t line_width, size_t right_from = Columns::kNone);

}  // namespace emplace
