/// Pictures of a placed graph: an SVG image, a page that needs nothing else, dot for Graphviz. Layout and page are
/// ours: boxes in layers, scopes that open and close, copies between devices as bold edges.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/report/place_report.h"

namespace emplace {

enum class DrawColor : uint8_t { kDevice, kTime, kMemory };
/// What the boxes around nodes stand for.
enum class DrawGroup : uint8_t { kScopes, kDevice, kNone };

struct DrawRequest {
  DrawColor color = DrawColor::kDevice;
  DrawGroup group = DrawGroup::kScopes;
  int64_t depth = -1;           // scopes are open down to this level; -1: as far as there is room
  NodeId around = kNoNode;      // only what is at most `distance` edges away from it; kNoNode: everything
  int64_t distance = 0;         // in edges, with or against their direction
  std::vector<double> node_us;  // of one step, by node, -1: not known; empty: nobody asked
};

struct Drawing {
  std::string text;
  int64_t nodes = 0;                // in the picture, folded ones too
  int64_t boxes = 0;                // drawn at first
  std::vector<std::string> folded;  // "layer1 (1200 nodes)": closed scopes that nobody can open (SVG)
};

// Each REQUIRES a report with a placement and its copies. Of one that was asked to stop, the text is not whole.

/// Standalone; at most 2,000 boxes, the rest folded by scope.
Drawing draw_svg(const PlaceReport& report, const DrawRequest& request);
/// One HTML file with its script; at most 400 boxes are visible at once.
Drawing draw_page(const PlaceReport& report, const DrawRequest& request);
/// A cluster per scope or device, copies as bold edges with their bytes.
Drawing draw_dot(const PlaceReport& report, const DrawRequest& request);

}  // namespace emplace
