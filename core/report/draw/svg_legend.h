/// What an SVG image has beside boxes and edges: colours and strokes, and what they mean.
#pragma once

#include <string>
#include <vector>

#include "core/report/draw/picture.h"
#include "core/report/draw/svg_marks.h"

namespace emplace {

inline constexpr double kSvgMargin = 16;

/// The style sheet, also for dark surroundings, and the tips of arrows.
std::string svg_style(DrawColor color);

/// Title, devices or shares, kinds of edges, what is folded; no wider than `width`. Returns its height.
double add_svg_legend(SvgMarks& svg, const Picture& picture, DrawColor color, const std::vector<std::string>& folded,
                      double width);

}  // namespace emplace
