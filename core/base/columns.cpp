#include "core/base/columns.h"

#include <algorithm>
#include <utility>

#include "core/base/text_width.h"

namespace emplace {
namespace {

constexpr size_t kGap = 2;         // between columns
constexpr size_t kLeast = 12;      // a column is made no narrower
constexpr size_t kLeastLast = 24;  // nor is the last

}  // namespace

Columns::Columns(std::vector<std::string> header, size_t line_width)
    : header_(std::move(header)), line_width_(line_width) {
  for (const std::string& cell : header_) widths_.push_back(text_width(cell));
}

void Columns::see(size_t column, std::string_view cell) {
  widths_[column] = std::max(widths_[column], text_width(cell));
}

void Columns::fit() {
  widths_.back() = std::max(widths_.back(), kLeastLast);
  if (line_width_ == 0) return;
  const auto total = [&] {
    size_t sum = kGap * (widths_.size() - 1);
    for (const size_t width : widths_) sum += width;
    return sum;
  };
  while (total() > line_width_) {
    const auto widest = std::max_element(widths_.begin(), widths_.end() - 1);
    if (*widest <= kLeast) break;
    --*widest;
  }
  widths_.back() += line_width_ > total() ? line_width_ - total() : 0;
}

void Columns::add_header(std::string& out) {
  fit();
  add(out, header_);
}

void Columns::add(std::string& out, std::span<const std::string> cells) const {
  for (size_t i = 0; i < cells.size(); ++i) {
    const bool last = i + 1 == cells.size();
    const std::string cell = line_width_ == 0 ? cells[i] : without_middle(cells[i], widths_[i]);
    out += cell;
    if (!last) out.append(widths_[i] - std::min(widths_[i], text_width(cell)) + kGap, ' ');
  }
  out.erase(out.find_last_not_of(' ') + 1);
  out += '\n';
}

std::string table_text(std::vector<std::string> header, const std::vector<std::vector<std::string>>& lines,
                       size_t line_width) {
  Columns columns(std::move(header), line_width);
  for (const auto& cells : lines) {
    for (size_t i = 0; i < cells.size(); ++i) columns.see(i, cells[i]);
  }
  std::string text;
  columns.add_header(text);
  for (const auto& cells : lines) columns.add(text, cells);
  return text;
}

}  // namespace emplace
