#include "core/base/columns.h"

#include <algorithm>

namespace emplace {
namespace {

constexpr size_t kGap = 2;         // between columns
constexpr size_t kLeast = 12;      // a column is made no narrower
constexpr size_t kLeastLast = 24;  // nor is the last

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

/// Where the character with that number begins.
size_t byte_of(std::string_view text, size_t character) {
  size_t seen = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (begins_character(text[i]) && seen++ == character) return i;
  }
  return text.size();
}

}  // namespace

size_t text_width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string without_middle(std::string_view text, size_t width) {
  constexpr std::string_view kDots = "...";
  const size_t characters = text_width(text);
  if (characters <= width) return std::string(text);
  const size_t kept = width - kDots.size(), tail = kept / 2;
  std::string out(text.substr(0, byte_of(text, kept - tail)));
  out += kDots;
  out += text.substr(byte_of(text, characters - tail));
  return out;
}

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

}  // namespace emplace
