#include "core/base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "core/base/text_width.h"

namespace emplace {
namespace {

/// How much of a line fits: up to a space, and at least a word.
size_t part_that_fits(std::string_view line, size_t width) {
  const size_t begin = line.find_first_not_of(' ');
  size_t end = std::string_view::npos;
  for (size_t space = line.find(' ', begin); space != std::string_view::npos; space = line.find(' ', space + 1)) {
    if (end != std::string_view::npos && text_width(line.substr(0, space)) > width) break;
    end = space;
  }
  return end;
}

void add_line(std::string_view line, size_t width, std::string& out) {
  constexpr std::string_view kIndent = "    ";
  std::string rest(line);
  while (text_width(rest) > width) {
    const size_t end = part_that_fits(rest, width);
    if (end == std::string::npos) break;
    out.append(rest, 0, end).append("\n");
    rest = std::string(kIndent) + rest.substr(rest.find_first_not_of(' ', end));
  }
  out += rest;
}

}  // namespace

size_t terminal_width(int file) {
  winsize size{};
  return isatty(file) && ioctl(file, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string wrapped(std::string_view text, size_t width, bool indented) {
  constexpr size_t kLeast = 20;
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    const std::string_view line = text.substr(begin, end == text.npos ? end : end - begin);
    const bool stays = width < kLeast || line.size() <= width || (!indented && line.starts_with(' '));
    if (stays || line.find_last_not_of(' ') == line.npos)
      out += line;
    else
      add_line(line.substr(0, line.find_last_not_of(' ') + 1), width, out);
    if (end == text.npos) break;
    out += '\n';
    begin = end + 1;
  }
  return out;
}

}  // namespace emplace
