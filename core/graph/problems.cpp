// Part of core/graph/source.h: problems of a file, with the line and a caret.
#include <algorithm>

#include "core/base/cat.h"
#include "core/base/printable.h"
#include "core/graph/source.h"

namespace emplace {
namespace {

constexpr int64_t kShown = 100;
constexpr size_t kLongestLine = 120;  // of a source line in a message; longer ones are cut around the column

bool continues_character(char c) { return (static_cast<uint8_t>(c) & 0xc0) == 0x80; }

// What acts on a terminal becomes a space, so that the caret stays below what it points at.
std::string blanked(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    size_t size = 1;
    while (size < text.size() && continues_character(text[size])) ++size;
    const std::string_view character = text.substr(0, size);
    const bool shown = character == "\t" || printable(character) == character;
    out += shown ? character : " ";
    text.remove_prefix(size);
  }
  return out;
}

// The line and, below it, a caret under its byte `column` (from 0).
std::string excerpt(std::string_view line, size_t column) {
  column = std::min(column, line.size());
  size_t begin = 0, end = line.size();
  if (line.size() > kLongestLine) {
    begin = column > kLongestLine / 2 ? column - kLongestLine / 2 : 0;
    end = std::min(begin + kLongestLine, line.size());
    while (begin < column && continues_character(line[begin])) ++begin;
    while (end < line.size() && continues_character(line[end])) ++end;
  }
  std::string shown, below;
  if (begin > 0) shown = "...", below = "   ";
  shown += blanked(line.substr(begin, end - begin));
  if (end < line.size()) shown += "...";
  for (char c : line.substr(begin, column - begin)) {
    if (!continues_character(c)) below += c == '\t' ? '\t' : ' ';
  }
  return cat(shown, "\n", below, "^\n");
}

}  // namespace

void Problems::add(int64_t position, std::string message, std::string hint, Code code) {
  if (count_++ < kShown) list_.push_back({position, code, std::move(message), std::move(hint)});
}

bool Problems::full() const { return count_ >= kShown; }

std::string Problems::to_string(const Source& source) const {
  std::vector<const Problem*> by_position;
  for (const Problem& p : list_) by_position.push_back(&p);
  std::stable_sort(by_position.begin(), by_position.end(),
                   [](const Problem* a, const Problem* b) { return a->position < b->position; });
  const std::string name = printable(source.name());
  std::string out;
  for (const Problem* p : by_position) {
    if (p->position == kNoPosition) {
      append(out, name, ": ", printable(p->message), "\n");
    } else if (source.binary()) {
      append(out, printable(source.where(static_cast<size_t>(p->position))), ": ", printable(p->message), "\n");
    } else {
      Source::LineColumn at = source.locate(static_cast<size_t>(p->position));
      append(out, name, ":", at.line, ":", at.column, ": ", printable(p->message), "\n");
      out += excerpt(at.line_text, static_cast<size_t>(at.column - 1));
    }
    if (!p->hint.empty()) append(out, "  hint: ", printable(p->hint), "\n");
  }
  if (count_ > kShown) append(out, name, ": and ", count_ - kShown, " more problems\n");
  return out;
}

}  // namespace emplace
