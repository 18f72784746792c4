// Part of core/report/draw/draw.h: the picture as a page that opens, searches and explains.
#include "core/base/cat.h"
#include "core/base/printable.h"
#include "core/report/draw/arrangement.h"
#include "core/report/draw/box_text.h"
#include "core/report/draw/draw.h"
#include "core/report/draw/page_data.h"
#include "core/report/draw/page_text.h"
#include "core/report/draw/seen.h"

namespace emplace {
namespace {

/// Of a scope that is opened; two of them, one in the other, may be visible at once (page.js: MOST).
constexpr size_t kMostChildren = 150;
/// What the page shows before anybody opens something, if nobody asks for a depth.
constexpr size_t kFirstBoxes = 60, kMostVisible = 400;
/// And how wide that may be: what a screen of 1,400 points shows beside the panel at the least scale that can be read.
constexpr double kFirstWidth = 1600;

std::string fills() {
  std::string out;
  const auto add = [&](std::string_view name, size_t i, Fill fill) {
    append(out, '.', name, i, " > rect:first-of-type, rect.", name, i, " { fill: light-dark(", fill.light, ", ",
           fill.dark, "); }\n.key.", name, i, " { background: light-dark(", fill.light, ", ", fill.dark, "); }\n");
  };
  for (size_t i = 0; i < std::size(kDeviceFills); ++i) add("d", i, kDeviceFills[i]);
  for (size_t i = 0; i < std::size(kHeatFills); ++i) add("h", i, kHeatFills[i]);
  return out;
}

/// As many scopes as there is room for in the first view: of a training step they are wide.
std::vector<bool> open_at_first(const Picture& picture, const ScopeTree& tree, int64_t depth) {
  if (depth >= 0) return choose_open(tree, depth, kMostVisible);
  for (size_t most = kFirstBoxes;; most /= 2) {
    std::vector<bool> open = choose_open(tree, depth, most);
    if (most == 0 || arrange(picture, tree, open, see(picture, tree, open)).scope[0].width <= kFirstWidth) return open;
  }
}

}  // namespace

Drawing draw_page(const PlaceReport& report, const DrawRequest& request) {
  const Picture picture = make_picture(report, request);
  const ScopeTree tree = make_scope_tree(picture, request.group, kMostChildren);
  const std::vector<bool> open = open_at_first(picture, tree, request.depth);
  const PageText text = page_text();
  Drawing drawing;
  drawing.nodes = static_cast<int64_t>(picture.nodes.size());
  for (uint32_t s = 0; s < open.size(); ++s) {
    if (open[s]) drawing.boxes += static_cast<int64_t>(tree.scopes[s].children.size());
  }
  drawing.text =
      cat("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
          "content=\"width=device-width\">\n<title>",
          html_text(report.path), "</title>\n<style>\n", text.style, fills(), "</style>\n</head>\n<body>\n", text.body,
          "<script type=\"application/json\" id=\"data\">", page_data(picture, tree, open, request.color),
          "</script>\n<script>\n", text.script, text.checks, "start();\n</script>\n</body>\n</html>\n");
  return drawing;
}

}  // namespace emplace
