#include "core/base/printable.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "core/base/acting_character.h"
#include "core/base/json_writer.h"
#include "core/base/text_words.h"

namespace emplace {
namespace {

/// A character of UTF-8 and how many bytes it takes; none: 0.
struct Character {
  uint32_t code = 0;
  size_t size = 0;
};

Character character_at(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {first, 1};
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (text.size() < size || !is_utf8(text.substr(0, size))) return {};
  uint32_t code = first & (0xffu >> (size + 1));
  for (size_t i = 1; i < size; ++i) code = code << 6 | (byte(i) & 0x3fu);
  return {code, size};
}

void append_escape(std::string& out, uint32_t code) {
  char text[16];
  if (code == '\n' || code == '\r' || code == '\t') {
    out += code == '\n' ? "\\n" : code == '\r' ? "\\r" : "\\t";
    return;
  }
  std::snprintf(text, sizeof text, code < 0x80 ? "\\x%02x" : "\\u%04x", code);
  out += text;
}

bool is_plain(std::string_view text, LineEnds line_ends) {
  if (every_word(text, is_printable_ascii)) return true;
  return line_ends == LineEnds::kKept &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= ' ' && c < 0x7f) || c == '\n' || c == '\t'; });
}

// In a CSV file, too: no comma, no quote, no blank at its ends, no formula.
bool is_plain_cell(std::string_view text) {
  if (text.empty()) return true;
  if (text.back() == ' ' || std::string_view(" =+-@").find(text.front()) != std::string_view::npos) return false;
  return every_word(text,
                    [](uint64_t word) { return is_printable_ascii(word) && lacks(word, ',') && lacks(word, '"'); });
}

}  // namespace

std::string printable(std::string_view text, LineEnds line_ends) {
  if (is_plain(text, line_ends)) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const Character c = character_at(text);
    if (c.size == 0) {  // no UTF-8
      char byte[8];
      std::snprintf(byte, sizeof byte, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(text[0])));
      out += byte;
      text.remove_prefix(1);
      continue;
    }
    const bool kept = line_ends == LineEnds::kKept && (c.code == '\n' || c.code == '\t');
    if (is_acting(c.code) && !kept) {
      append_escape(out, c.code);
    } else {
      out += text.substr(0, c.size);
    }
    text.remove_prefix(c.size);
  }
  return out;
}

void append_csv_cell(std::string& out, std::string_view text) {
  if (is_plain_cell(text)) {
    out += text;
    return;
  }
  std::string cell = printable(text);
  if (!cell.empty() && std::string_view("=+-@").find(cell.front()) != std::string_view::npos) cell.insert(0, 1, '\'');
  const bool blank_end = !cell.empty() && (cell.front() == ' ' || cell.back() == ' ');
  if (!blank_end && cell.find_first_of(",\"") == std::string::npos) {
    out += cell;
    return;
  }
  out += '"';
  for (const char c : cell) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

std::string csv_cell(std::string_view text) {
  std::string out;
  append_csv_cell(out, text);
  return out;
}

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace emplace
