#include "core/base/columns.h"

#include <algorithm>
#include <utility>

#include "core/base/text_width.h"

namespace emplace {
namespace {

constexpr size_t kGap = 2;                        // between columns
constexpr size_t kShortCell = 16;                 // a column that needs no more is left as it is where that can be
constexpr size_t kLeast = 12, kLeastLast = 24;    // where there is room for so much, others are made no narrower
constexpr size_t kNarrow = 7;                     // nor anywhere: what is left of a name would say nothing
constexpr std::string_view kMoreColumns = "...";  // in place of columns

}  // namespace

Columns::Columns(std::vector<std::string> header, size_t line_width, size_t right_from)
    : header_(std::move(header)), line_width_(line_width), right_from_(right_from), columns_(header_.size()) {
  for (size_t i = 0; i < header_.size(); ++i) columns_[i].width = text_width(header_[i]);
}

void Columns::see(size_t column, std::string_view cell) {
  Column& c = columns_[column];
  c.width = std::max(c.width, text_width(cell));
  c.is_seen = true;
  c.says |= !cell.empty() && cell != "-";
}

size_t Columns::total() const {
  size_t sum = all_shown_ ? 0 : kGap + kMoreColumns.size();
  for (const Column& c : columns_) sum += c.is_shown ? c.width + kGap : 0;
  return sum - kGap;
}

/// The widest that may be narrower, by one column of the terminal at a time. `least`: of a column, by its number.
template <class F>
void Columns::shrink(const F& least) {
  while (!fits()) {
    Column* widest = nullptr;
    for (size_t i = 0; i < columns_.size(); ++i) {
      Column& c = columns_[i];
      if (c.is_shown && c.width > least(i) && (!widest || c.width > widest->width)) widest = &c;
    }
    if (!widest) return;
    --widest->width;
  }
}

void Columns::leave_out_silent() {
  for (size_t i = columns_.size(); i-- > 0 && !fits();) {
    if (columns_[i].is_seen && !columns_[i].says) columns_[i].is_shown = all_shown_ = false;
  }
}

void Columns::fit() {
  if (line_width_ == 0) return;
  const size_t last = columns_.size() - 1;
  if (!columns_[last].is_seen) columns_[last].width = std::max(columns_[last].width, kLeastLast);
  for (Column& c : columns_) c.wanted = c.width;
  const auto least = [&](size_t i) { return columns_[i].wanted <= kShortCell ? columns_[i].wanted : kLeast; };
  shrink([&](size_t i) { return i == last ? kLeastLast : columns_[i].wanted; });
  shrink([&](size_t i) { return i == last ? kLeastLast : least(i); });
  leave_out_silent();
  shrink(least);
  if (!fits() && last > 0) columns_[last].is_shown = all_shown_ = false;
  shrink([](size_t) { return kNarrow; });
  for (size_t i = last; i > 0 && !fits(); --i) columns_[i].is_shown = all_shown_ = false;
  size_t room = fits() ? line_width_ - total() : 0;
  if (!columns_[last].is_seen) columns_[last].wanted += room;
  for (Column& c : columns_) {
    const size_t more = c.is_shown ? std::min(room, c.wanted - c.width) : 0;
    c.width += more;
    room -= more;
  }
}

void Columns::add_header(std::string& out) {
  fit();
  if (all_shown_) return add(out, header_);
  std::string line;
  add(line, header_);
  line.back() = ' ';
  line.resize(total() - kMoreColumns.size(), ' ');
  out += line;
  out += kMoreColumns;
  out += '\n';
}

void Columns::add(std::string& out, std::span<const std::string> cells) const {
  std::string_view gap;
  for (size_t i = 0; i < cells.size(); ++i) {
    const Column& c = columns_[i];
    if (!c.is_shown) continue;
    const std::string cell = line_width_ == 0 ? cells[i] : without_middle(cells[i], c.width);
    const std::string space(c.width - std::min(c.width, text_width(cell)), ' ');
    out += gap;
    out += i >= right_from_ ? space + cell : cell + space;
    gap = "  ";
  }
  out.erase(out.find_last_not_of(' ') + 1);
  out += '\n';
}

std::string table_text(std::vector<std::string> header, const std::vector<std::vector<std::string>>& lines,
                       size_t line_width, size_t right_from) {
  Columns columns(std::move(header), line_width, right_from);
  for (const auto& cells : lines) {
    for (size_t i = 0; i < cells.size(); ++i) columns.see(i, cells[i]);
  }
  std::string text;
  columns.add_header(text);
  for (const auto& cells : lines) columns.add(text, cells);
  return text;
}

}  // namespace emplace
