#include "core/report/draw/layered_layout.h"

#include <algorithm>
#include <cmath>

#include "core/report/draw/layering.h"

namespace emplace {
namespace {

/// Lines that would need more bends go straight, behind boxes: the shorter ones are served first.
constexpr size_t kBendsPerBox = 4, kBendsAtLeast = 200;

/// Makes items of boxes and of the bends of lines.
class ItemMaker {
 public:
  ItemMaker(const LayeredGraph& graph, const Layering& layering, LayeredLayout& layout)
      : graph_(graph), layering_(layering), layout_(layout) {
    const size_t n = graph.boxes.size();
    items_.layer = layering.layer;
    for (const LayeredBox& box : graph.boxes) items_.width.push_back(box.width);
    items_.above.resize(n);
    items_.below.resize(n);
    layout.edge_lane.resize(graph.edges.size());
    layout.enter_lane.resize(n);
    layout.exit_lane.resize(n);
  }

  LayerItems make() {
    const auto n = static_cast<uint32_t>(graph_.boxes.size());
    for (uint32_t e = 0; e < graph_.edges.size(); ++e) add_line(Line::kEdge, e);
    for (uint32_t b = 0; b < n; ++b) {
      if (graph_.boxes[b].enters && layering_.layer[b] > 0) add_line(Line::kEnter, b);
      if (graph_.boxes[b].exits && layering_.layer[b] + 1 < layering_.num_layers) add_line(Line::kExit, b);
    }
    std::stable_sort(lines_.begin(), lines_.end(), [](const Line& a, const Line& b) { return a.bends < b.bends; });
    size_t budget = n * kBendsPerBox + kBendsAtLeast;
    for (const Line& line : lines_) {
      if (line.bends > budget) break;
      budget -= line.bends;
      run_line(line);
    }
    items_.rows.resize(layering_.num_layers);
    for (uint32_t item = 0; item < items_.layer.size(); ++item) items_.rows[items_.layer[item]].push_back(item);
    return std::move(items_);
  }

 private:
  struct Line {
    enum Kind : uint8_t { kEdge, kEnter, kExit } kind;
    uint32_t of;            // edge or box
    uint32_t upper, lower;  // boxes; kNone: the rim
    uint32_t first_layer, bends;
  };
  static constexpr uint32_t kNone = ~uint32_t{0};

  void add_line(Line::Kind kind, uint32_t of) {
    Line line{kind, of, of, of, 0, 0};
    if (kind == Line::kEdge) {
      const LayeredEdge edge = graph_.edges[of];
      line.upper = layering_.back[of] ? edge.to : edge.from;
      line.lower = layering_.back[of] ? edge.from : edge.to;
    } else {
      (kind == Line::kEnter ? line.upper : line.lower) = kNone;
    }
    line.first_layer = line.upper == kNone ? 0 : layering_.layer[line.upper] + 1;
    line.bends = (line.lower == kNone ? layering_.num_layers : layering_.layer[line.lower]) - line.first_layer;
    lines_.push_back(line);
  }

  void run_line(const Line& line) {
    Lane& lane = line.kind == Line::kEdge    ? layout_.edge_lane[line.of]
                 : line.kind == Line::kEnter ? layout_.enter_lane[line.of]
                                             : layout_.exit_lane[line.of];
    const auto boxes = static_cast<uint32_t>(graph_.boxes.size());
    lane = {static_cast<uint32_t>(items_.layer.size()) - boxes, line.bends};
    uint32_t last = line.upper;
    for (uint32_t i = 0; i < line.bends; ++i) {
      const auto bend = static_cast<uint32_t>(items_.layer.size());
      items_.layer.push_back(line.first_layer + i);
      items_.width.push_back(0);
      items_.above.emplace_back();
      items_.below.emplace_back();
      link(last, bend);
      last = bend;
    }
    link(last, line.lower);
  }

  void link(uint32_t upper, uint32_t lower) {
    if (upper == kNone || lower == kNone) return;
    items_.below[upper].push_back(lower);
    items_.above[lower].push_back(upper);
  }

  const LayeredGraph& graph_;
  const Layering& layering_;
  LayeredLayout& layout_;
  LayerItems items_;
  std::vector<Line> lines_;
};

void stack_layers(const LayeredGraph& graph, const Layering& layering, LayeredLayout& layout) {
  std::vector<double> heights(layering.num_layers);
  for (size_t b = 0; b < graph.boxes.size(); ++b) {
    double& height = heights[layering.layer[b]];
    height = std::max(height, graph.boxes[b].height);
  }
  double y = 0;
  for (const double height : heights) {
    layout.layer_top.push_back(y);
    layout.layer_bottom.push_back(y + height);
    y += height + kLayerGap;
  }
  layout.height = heights.empty() ? 0 : y - kLayerGap;
  for (size_t b = 0; b < graph.boxes.size(); ++b) layout.top.push_back(layout.layer_top[layering.layer[b]]);
}

}  // namespace

LayeredLayout lay_out(const LayeredGraph& graph) {
  LayeredLayout layout;
  Layering layering = assign_layers(graph);
  const auto n = static_cast<uint32_t>(graph.boxes.size());
  LayerItems items = ItemMaker(graph, layering, layout).make();
  order_rows(items);
  const std::vector<double> middle = place_items(items, n);
  double least = 0, most = 0;
  for (uint32_t i = 0; i < middle.size(); ++i) {
    least = i == 0 ? middle[i] - items.width[i] / 2 : std::min(least, middle[i] - items.width[i] / 2);
    most = i == 0 ? middle[i] + items.width[i] / 2 : std::max(most, middle[i] + items.width[i] / 2);
  }
  least = std::floor(least);
  layout.width = most - least;
  for (uint32_t i = 0; i < n; ++i) layout.left.push_back(middle[i] - items.width[i] / 2 - least);
  for (size_t i = n; i < middle.size(); ++i) {
    layout.bends.push_back(middle[i] - least);
    layout.bend_layer.push_back(items.layer[i]);
  }
  stack_layers(graph, layering, layout);
  layout.layer = std::move(layering.layer);
  layout.back = std::move(layering.back);
  return layout;
}

}  // namespace emplace
