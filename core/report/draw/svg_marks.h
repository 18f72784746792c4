/// The marks that an SVG image is made of, written front to back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace emplace {

int64_t svg_whole(double x);

struct SvgMarks {
  /// `kind`: its class; empty: none. The text is html_text().
  void text(std::string_view kind, double x, double y, std::string_view text);
  void rect(std::string_view kind, double left, double top, double width, double height, int round);

  std::string out;
};

}  // namespace emplace
