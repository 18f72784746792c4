#include "core/report/draw/svg_marks.h"

#include <cmath>

#include "core/base/cat.h"
#include "core/base/printable.h"

namespace emplace {

int64_t svg_whole(double x) { return std::llround(x); }

void SvgMarks::text(std::string_view kind, double x, double y, std::string_view text) {
  append(out, "<text", kind.empty() ? "" : cat(" class=\"", kind, '"'), " x=\"", svg_whole(x), "\" y=\"", svg_whole(y),
         "\">", html_text(text), "</text>");
}

void SvgMarks::rect(std::string_view kind, double left, double top, double width, double height, int round) {
  const int64_t x = svg_whole(left), y = svg_whole(top);
  append(out, "<rect", kind.empty() ? "" : cat(" class=\"", kind, '"'), " x=\"", x, "\" y=\"", y, "\" width=\"",
         svg_whole(left + width) - x, "\" height=\"", svg_whole(top + height) - y, "\" rx=\"", round, "\"/>");
}

}  // namespace emplace
