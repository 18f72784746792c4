// Part of core/report/draw/draw.h: the picture in Graphviz's language.
#include <limits>

#include "core/base/cat.h"
#include "core/base/units.h"
#include "core/device/device_text.h"
#include "core/report/dot_text.h"
#include "core/report/draw/box_text.h"
#include "core/report/draw/draw.h"
#include "core/report/draw/seen.h"

namespace emplace {
namespace {

class DotWriter {
 public:
  DotWriter(const Picture& picture, const ScopeTree& tree, const std::vector<bool>& open, const DrawRequest& request)
      : picture_(picture), tree_(tree), open_(open), color_(request.color) {
    for (const PictureNode& node : picture.nodes) hottest_ = std::max(hottest_, heat_of(node, color_).sum);
  }

  std::string write(const Seen& seen) {
    out_ =
        "digraph placement {\n  rankdir=TB; compound=true;\n  node [shape=box, style=\"filled,rounded\", "
        "fontsize=10];\n";
    add_scope(0, "  ");
    for (const SeenEdge& edge : seen.edges) add_edge(edge);
    return out_ + "}\n";
  }

 private:
  static std::string id_of(ScopeChild box) { return cat(box.is_scope ? 's' : 'n', box.index); }

  static std::string inside_text(const Scope& scope) {
    return scope.copies.count == 0 ? ""
                                   : cat("+\"\\n\"+", dot_text(copies_inside(scope.copies)), ", color=\"#a3152a\"");
  }

  void add_scope(uint32_t scope, const std::string& indent) {
    for (const ScopeChild child : tree_.scopes[scope].children) {
      const Scope* inner = child.is_scope ? &tree_.scopes[child.index] : nullptr;
      if (!inner) {
        add_node(child, indent);
      } else if (!open_[child.index]) {
        append(out_, indent, id_of(child),
               " [label=", dot_text(cat(inner->label, ": ", counted(inner->end - inner->first, "node"))),
               inside_text(*inner), ", shape=box3d];\n");
      } else {
        append(out_, indent, "subgraph cluster_", child.index, " {\n", indent, "  label=", dot_text(inner->label),
               ";\n");
        add_scope(child.index, indent + "  ");
        append(out_, indent, "}\n");
      }
    }
  }

  void add_node(ScopeChild box, const std::string& indent) {
    const PictureNode& node = picture_.nodes[box.index];
    const Graph& graph = picture_.graph();
    const Heat heat = heat_of(node, color_);
    const bool by_device = color_ == DrawColor::kDevice;
    const std::string device = short_device_name(*picture_.report->devices, node.device);
    const Fill fill =
        by_device ? kDeviceFills[node.device % std::size(kDeviceFills)] : kHeatFills[heat_level(heat, hottest_)];
    append(out_, indent, id_of(box), " [label=", dot_text(tree_.labels[box.index]), "+\"\\n\"+",
           dot_text(op_line(graph, node.node, std::string::npos)), "+\"\\n\"+",
           dot_text(by_device ? device : cat(device, ' ', heat_text(heat, color_))), ", fillcolor=\"", fill.light,
           "\", tooltip=",
           dot_text(cat(graph.name(node.node), ": ", reason_text(*picture_.report->placement, node.node))), "];\n");
  }

  void add_edge(const SeenEdge& edge) {
    std::string tooltip;
    for (const uint32_t c : edge.copies)
      append(tooltip, tooltip.empty() ? "copy of " : ", ",
             copied_tensor(picture_.graph(), picture_.report->copies->copies[c]));
    append(out_, "  ", id_of(edge.from), " -> ", id_of(edge.to), " [",
           edge.tensors == 0 ? "style=dotted" : "style=solid");
    if (!edge.copies.empty())
      append(out_, ", penwidth=3, color=\"#a3152a\", label=", dot_text(copies_text(edge.total(picture_))),
             ", tooltip=", dot_text(tooltip));
    out_ += "];\n";
  }

  const Picture& picture_;
  const ScopeTree& tree_;
  const std::vector<bool>& open_;
  const DrawColor color_;
  double hottest_ = 0;  // of all nodes
  std::string out_;
};

}  // namespace

Drawing draw_dot(const PlaceReport& report, const DrawRequest& request) {
  constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();
  const Picture picture = make_picture(report, request);
  const ScopeTree tree = make_scope_tree(picture, request.group, kNoLimit);
  const std::vector<bool> open = choose_open(tree, request.depth, kNoLimit);
  const Seen seen = see(picture, tree, open);
  Drawing drawing;
  drawing.nodes = static_cast<int64_t>(picture.nodes.size());
  drawing.boxes = static_cast<int64_t>(seen.boxes.size());
  drawing.text = DotWriter(picture, tree, open, request).write(seen);
  return drawing;
}

}  // namespace emplace
