#include "core/report/draw/svg_legend.h"

#include <algorithm>
#include <utility>

#include "core/base/cat.h"
#include "core/device/device_text.h"
#include "core/report/draw/box_text.h"
#include "core/report/placement_log.h"

namespace emplace {
namespace {

constexpr std::string_view kStyle =
    "text{font-family:system-ui,'DejaVu Sans',Arial,sans-serif;font-size:11px;fill:#1a1a1a}\n"
    ".name{font-size:12px;font-weight:600}.badge{font-weight:700;text-anchor:end}.key{text-anchor:middle}.bytes{font-"
    "weight:700;"
    "fill:#a3152a;paint-order:stroke;stroke:#fff;stroke-width:3px}\n"
    ".box rect{stroke:#444;stroke-width:1}.closed "
    "rect{stroke-width:2}.holds rect{stroke:#a3152a;stroke-width:3}.scope{fill:#88888818;stroke:#888;stroke-width:1}\n"
    ".edge{fill:none;stroke:#666;stroke-width:1.2;marker-end:url(#tip)}.back{marker-start:url(#tip);marker-end:none}\n"
    ".control{stroke-dasharray:2 3}.copy{stroke:#a3152a;stroke-width:3;marker-end:url(#ctip)}\n"
    ".copy.back{marker-start:url(#ctip);marker-end:none}.paper{fill:#fff}.tip{fill:#666}.ctip{fill:#a3152a}\n";
constexpr std::string_view kDarkStyle =
    "text{fill:#f2f2f2}.paper{fill:#15181c}.box rect{stroke:#aab}.edge{stroke:#a5adb8}.tip{fill:#a5adb8}"
    ".copy,.holds rect{stroke:#ff8a94}.ctip{fill:#ff8a94}.bytes{fill:#ff9aa4;stroke:#15181c}\n";

/// Swatches side by side, in as many rows as they need.
class Swatches {
 public:
  Swatches(SvgMarks& svg, double y, double width) : svg_(svg), y_(y), width_(width) {}

  void add(std::string_view fill, std::string_view badge, std::string_view text) {
    const double room = 54 + 7 * static_cast<double>(text.size());
    if (x_ > kSvgMargin && x_ + room > width_) x_ = kSvgMargin, y_ += 20;
    svg_.out += "<g class=\"box\">";
    svg_.rect(fill, x_, y_, 28, 16, 3);
    svg_.text("key", x_ + 14, y_ + 12, badge);
    svg_.out += "</g>";
    svg_.text("", x_ + 34, y_ + 12, text);
    x_ += room;
  }
  double bottom() const { return y_ + 16; }

 private:
  SvgMarks& svg_;
  double x_ = kSvgMargin, y_;
  const double width_;
};

void add_strokes(SvgMarks& svg, double y) {
  static constexpr std::pair<std::string_view, std::string_view> kStrokes[] = {
      {"edge", "tensor"}, {"edge control", "control"}, {"edge copy", "copy to another device, bytes a step"}};
  double x = kSvgMargin;
  for (const auto& [kind, text] : kStrokes) {
    append(svg.out, "<path class=\"", kind, "\" d=\"M", svg_whole(x), ' ', svg_whole(y - 4), 'H', svg_whole(x + 28),
           "\"/>");
    svg.text("", x + 34, y, text);
    x += 54 + 6.2 * static_cast<double>(text.size());
  }
  svg.out += '\n';
}

std::string notes_of(const Picture& picture, const std::vector<std::string>& folded) {
  constexpr size_t kNamed = 4;
  std::string notes = picture.part;
  if (folded.empty()) return notes;
  append(notes, notes.empty() ? "" : "; ", "folded: ");
  for (size_t i = 0; i < std::min(kNamed, folded.size()); ++i) append(notes, i > 0 ? ", " : "", folded[i]);
  if (folded.size() > kNamed) append(notes, " and ", folded.size() - kNamed, " more");
  return notes;
}

}  // namespace

std::string svg_style(DrawColor color) {
  std::string out = cat("<style>\n", kStyle);
  std::string dark(kDarkStyle);
  const auto add_fill = [&](std::string_view name, size_t i, Fill fill) {
    append(out, '.', name, i, "{fill:", fill.light, '}');
    append(dark, '.', name, i, "{fill:", fill.dark, '}');
  };
  if (color == DrawColor::kDevice) {
    for (size_t i = 0; i < std::size(kDeviceFills); ++i) add_fill("d", i, kDeviceFills[i]);
  }
  for (size_t i = 0; i < std::size(kHeatFills); ++i) add_fill("h", i, kHeatFills[i]);
  append(out, "\n@media (prefers-color-scheme:dark){\n", dark, "}\n</style>\n<defs>\n");
  for (const std::string_view tip : {"tip", "ctip"}) {
    append(out, "<marker id=\"", tip,
           "\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" "
           "markerUnits=\"userSpaceOnUse\" orient=\"auto-start-reverse\"><path class=\"",
           tip, "\" d=\"M0 0L8 4L0 8z\"/></marker>\n");
  }
  return out + "</defs>\n";
}

double add_svg_legend(SvgMarks& svg, const Picture& picture, DrawColor color, const std::vector<std::string>& folded,
                      double width) {
  const PlaceReport& report = *picture.report;
  const std::string title =
      cat(report.path.substr(report.path.rfind('/') + 1), ": ",
          placement_summary(report.file->graph, *report.devices, *report.options, *report.placement, *report.copies));
  svg.text("name", kSvgMargin, kSvgMargin + 10, short_text(title, static_cast<size_t>((width - 2 * kSvgMargin) / 7.2)));
  svg.out += '\n';
  Swatches swatches(svg, kSvgMargin + 22, width);
  if (color == DrawColor::kDevice) {
    std::vector<uint32_t> nodes_on(report.devices->size());
    for (const PictureNode& node : picture.nodes) ++nodes_on[node.device];
    const std::vector<std::string> badges = device_badges(*report.devices);
    for (DeviceId d = 0; d < nodes_on.size(); ++d) {
      if (nodes_on[d] == 0) continue;
      swatches.add(cat('d', d % std::size(kDeviceFills)), badges[d],
                   cat(short_device_name(*report.devices, d), ' ', nodes_on[d]));
    }
  } else {
    static constexpr std::string_view kShares[] = {"0 or ?", "< 5 %", "5-20 %", "20-50 %", "> 50 % of the most"};
    for (size_t i = 0; i < std::size(kShares); ++i) swatches.add(cat('h', i), std::to_string(i), kShares[i]);
  }
  double y = swatches.bottom() + 14;
  add_strokes(svg, y);
  if (const std::string notes = notes_of(picture, folded); !notes.empty()) {
    svg.text("", kSvgMargin, y += 18, short_text(notes, static_cast<size_t>((width - 2 * kSvgMargin) / 6)));
    svg.out += '\n';
  }
  return y + 14;
}

}  // namespace emplace
