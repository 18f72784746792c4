// Part of core/report/draw/draw.h: the picture as an SVG image.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/base/cat.h"
#include "core/base/printable.h"
#include "core/base/units.h"
#include "core/device/device_text.h"
#include "core/report/draw/arrangement.h"
#include "core/report/draw/box_text.h"
#include "core/report/draw/draw.h"
#include "core/report/draw/svg_legend.h"
#include "core/report/placement_log.h"

namespace emplace {
namespace {

constexpr size_t kMostBoxes = 2000;
constexpr size_t kNameChars = 22, kOpChars = 20, kOpCharsByValue = 16, kInsideChars = 32;

class SvgWriter {
 public:
  SvgWriter(const Picture& picture, const ScopeTree& tree, const Seen& seen, Arrangement where, DrawColor color)
      : picture_(picture),
        report_(*picture.report),
        graph_(picture.graph()),
        tree_(tree),
        seen_(seen),
        where_(std::move(where)),
        color_(color),
        badges_(device_badges(*report_.devices)) {
    for (const ScopeChild box : seen.boxes) hottest_ = std::max(hottest_, heat(box).sum);
  }

  std::string write(const std::vector<std::string>& folded) {
    const Frame& all = where_.scope[0];
    const double width = std::max(std::ceil(all.width) + 2 * kSvgMargin, 560.0);
    SvgMarks legend;
    const double head = add_svg_legend(legend, picture_, color_, folded, width);
    const double height = std::ceil(all.height) + head + kSvgMargin;
    const std::string title = cat(report_.path, ": ",
                                  placement_summary(report_.file->graph, *report_.devices, *report_.options,
                                                    *report_.placement, *report_.copies));
    append(svg_.out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", svg_whole(width), "\" height=\"",
           svg_whole(height), "\" viewBox=\"0 0 ", svg_whole(width), ' ', svg_whole(height),
           "\" role=\"img\" aria-labelledby=\"title\">\n", "<title id=\"title\">", html_text(title), "</title>\n",
           svg_style(color_), "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n", legend.out,
           "<g transform=\"translate(", svg_whole((width - all.width) / 2), ' ', svg_whole(head - kScopeHead),
           ")\">\n");
    for (const uint32_t scope : seen_.open) add_open_scope(scope);
    for (const bool copies : {false, true}) {  // copies above all others
      for (size_t e = 0; e < seen_.edges.size(); ++e) {
        if (seen_.edges[e].copies.empty() != copies) add_edge(seen_.edges[e], where_.routes[e]);
      }
    }
    for (const ScopeChild box : seen_.boxes) box.is_scope ? add_closed_scope(box) : add_node(box);
    for (size_t e = 0; e < seen_.edges.size(); ++e) add_bytes(seen_.edges[e], where_.routes[e]);
    return svg_.out + "</g>\n</svg>\n";
  }

 private:
  template <class F>
  void each_node(ScopeChild box, const F& f) const {
    if (!box.is_scope) return f(picture_.nodes[box.index]);
    const Scope& scope = tree_.scopes[box.index];
    for (uint32_t i = scope.first; i < scope.end; ++i) f(picture_.nodes[tree_.leaves[i]]);
  }

  Heat heat(ScopeChild box) const {
    Heat sum;
    each_node(box, [&](const PictureNode& node) {
      const Heat one = heat_of(node, color_);
      sum.sum += one.sum;
      sum.known |= one.known;
    });
    return sum;
  }

  std::vector<uint32_t> nodes_on(ScopeChild box) const {
    std::vector<uint32_t> counts(report_.devices->size());
    each_node(box, [&](const PictureNode& node) { ++counts[node.device]; });
    return counts;
  }

  void add_open_scope(uint32_t index) {
    const Scope& scope = tree_.scopes[index];
    const Frame& f = where_.scope[index];
    append(svg_.out, "<g><title>", html_text(scope.path), ": ", counted(scope.end - scope.first, "node"), "</title>");
    svg_.rect("scope", f.left, f.top, f.width, f.height, 6);
    svg_.text("name", f.left + 8, f.top + 16, short_text(scope.label, static_cast<size_t>((f.width - 16) / 7.5)));
    svg_.out += "</g>\n";
  }

  void add_edge(const SeenEdge& edge, const Route& route) {
    append(svg_.out, "<path class=\"edge", edge.tensors == 0 ? " control" : "", edge.copies.empty() ? "" : " copy",
           route.back ? " back" : "", "\" d=\"M", svg_whole(route.spots.front().x), ' ',
           svg_whole(route.spots.front().y));
    for (size_t i = 1; i < route.spots.size(); ++i) {
      const Spot a = route.spots[i - 1], b = route.spots[i];
      if (svg_whole(a.y) == svg_whole(b.y) && svg_whole(a.x) == svg_whole(b.x)) continue;
      if (svg_whole(a.x) == svg_whole(b.x)) {
        append(svg_.out, 'V', svg_whole(b.y));
      } else {
        const double y = (a.y + b.y) / 2;
        append(svg_.out, 'C', svg_whole(a.x), ' ', svg_whole(y), ' ', svg_whole(b.x), ' ', svg_whole(y), ' ',
               svg_whole(b.x), ' ', svg_whole(b.y));
      }
    }
    append(svg_.out, "\"><title>", html_text(path_of(edge.from)), " to ", html_text(path_of(edge.to)));
    for (const uint32_t c : edge.copies) append(svg_.out, "; ", html_text(copy_text(report_.copies->copies[c])));
    svg_.out += "</title></path>\n";
  }

  std::string copy_text(const Copy& copy) const {
    return cat("copy of ", copied_tensor(graph_, copy), " from ", short_device_name(*report_.devices, copy.from),
               " to ", short_device_name(*report_.devices, copy.to), ' ', copied_bytes(copy));
  }

  std::string path_of(ScopeChild box) const {
    return box.is_scope ? tree_.scopes[box.index].path : std::string(picture_.name(box.index));
  }

  /// The bytes of an edge's copies, beside where it begins, or, if several such edges begin there, where it ends.
  void add_bytes(const SeenEdge& edge, const Route& route) {
    if (edge.copies.empty()) return;
    const auto from = std::pair(edge.from.is_scope, edge.from.index), to = std::pair(edge.to.is_scope, edge.to.index);
    const bool at_start = !route.back && std::count_if(seen_.edges.begin(), seen_.edges.end(), [&](const SeenEdge& e) {
                                           return !e.copies.empty() && std::pair(e.from.is_scope, e.from.index) == from;
                                         }) == 1;
    const Spot end = at_start || route.back ? route.spots.front() : route.spots.back();
    const double y =
        at_start ? where_.of(edge.from).bottom() + 13 : where_.of(edge.to).top - 9 - 12 * (labels_at_[to]++ % 3);
    svg_.text("bytes", end.x + 6, y, copies_text(edge.total(picture_)));
    svg_.out += '\n';
  }

  std::string fill_of(ScopeChild box, DeviceId device) const {
    if (color_ == DrawColor::kDevice) return cat('d', device % std::size(kDeviceFills));
    return cat('h', heat_level(heat(box), hottest_));
  }

  void add_node(ScopeChild box) {
    const PictureNode& node = picture_.nodes[box.index];
    const Frame& f = where_.node[box.index];
    const std::string what = op_line(graph_, node.node, std::string::npos);
    append(svg_.out, "<g class=\"box\"><title>",
           html_text(cat(graph_.name(node.node), " (", what, ") on ", short_device_name(*report_.devices, node.device),
                         ": ", reason_text(*report_.placement, node.node))),
           "</title>");
    svg_.rect(fill_of(box, node.device), f.left, f.top, f.width, f.height, 4);
    const bool by_device = color_ == DrawColor::kDevice;
    svg_.text("name", f.left + 8, f.top + 18, short_text(tree_.labels[box.index], kNameChars));
    svg_.text("", f.left + 8, f.top + 35, op_line(graph_, node.node, by_device ? kOpChars : kOpCharsByValue));
    svg_.text("badge", f.left + f.width - 8, f.top + 35,
              by_device ? badges_[node.device] : heat_text(heat(box), color_));
    svg_.out += "</g>\n";
  }

  void add_closed_scope(ScopeChild box) {
    const Scope& scope = tree_.scopes[box.index];
    const Frame& f = where_.scope[box.index];
    const std::vector<uint32_t> counts = nodes_on(box);
    const auto most = static_cast<DeviceId>(std::max_element(counts.begin(), counts.end()) - counts.begin());
    const bool by_device = color_ == DrawColor::kDevice,
               mixed = std::count(counts.begin(), counts.end(), 0u) + 1 < static_cast<ptrdiff_t>(counts.size());
    const std::string inside = copies_inside(scope.copies);
    append(svg_.out, "<g class=\"box closed", inside.empty() ? "" : " holds", "\"><title>",
           html_text(cat(scope.path, ": ", counted(scope.end - scope.first, "node"), ": ",
                         device_counts(*report_.devices, counts), inside.empty() ? "" : "; ", inside)),
           "</title>");
    svg_.rect(by_device && mixed ? "h0" : fill_of(box, most), f.left, f.top, f.width, f.height, 4);
    svg_.text("name", f.left + 8, f.top + 18, short_text(scope.label, kNameChars));
    svg_.text("", f.left + 8, f.top + 35, counted(scope.end - scope.first, "node"));
    svg_.text("badge", f.left + f.width - 8, f.top + 35, by_device ? badges_of(counts) : heat_text(heat(box), color_));
    if (!inside.empty()) svg_.text("", f.left + 8, f.top + 50, short_text(inside, kInsideChars));
    svg_.out += "</g>\n";
  }

  std::string badges_of(const std::vector<uint32_t>& counts) const {
    std::string text;
    size_t left = 0;
    for (size_t d = 0; d < counts.size(); ++d) {
      if (counts[d] == 0) continue;
      if (text.size() < 9)
        append(text, text.empty() ? "" : " ", badges_[d]);
      else
        ++left;
    }
    return left > 0 ? cat(text, " +", left) : text;
  }

  const Picture& picture_;
  const PlaceReport& report_;
  const Graph& graph_;
  const ScopeTree& tree_;
  const Seen& seen_;
  const Arrangement where_;
  const DrawColor color_;
  const std::vector<std::string> badges_;
  std::vector<uint32_t> nodes_on_;                           // by device, in the whole picture
  double hottest_ = 0;                                       // of the boxes that can be seen
  std::map<std::pair<bool, uint32_t>, uint32_t> labels_at_;  // bytes written above a box so far
  SvgMarks svg_;
};

}  // namespace

Drawing draw_svg(const PlaceReport& report, const DrawRequest& request) {
  const Picture picture = make_picture(report, request);
  const ScopeTree tree = make_scope_tree(picture, request.group, kMostBoxes);
  const std::vector<bool> open = choose_open(tree, request.depth, kMostBoxes);
  const Seen seen = see(picture, tree, open);
  Drawing drawing;
  drawing.nodes = static_cast<int64_t>(picture.nodes.size());
  drawing.boxes = static_cast<int64_t>(seen.boxes.size());
  for (const ScopeChild box : seen.boxes) {
    if (!box.is_scope) continue;
    const Scope& scope = tree.scopes[box.index];
    drawing.folded.push_back(cat(scope.path, " (", counted(scope.end - scope.first, "node"), ')'));
  }
  drawing.text =
      SvgWriter(picture, tree, seen, arrange(picture, tree, open, seen), request.color).write(drawing.folded);
  return drawing;
}

}  // namespace emplace
