/// What a layered layout (layered_layout.h) is made of: boxes with their sizes, and edges between them.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace emplace {

inline constexpr double kLayerGap = 44, kBoxGap = 18;  // between layers, and between boxes of one; pixels

struct LayeredBox {
  double width = 0, height = 0;
  bool enters = false, exits = false;  // edges from above the whole layout, or to below it
};

struct LayeredEdge {
  uint32_t from = 0, to = 0;
  auto operator<=>(const LayeredEdge&) const = default;
};

struct LayeredGraph {
  std::vector<LayeredBox> boxes;
  std::vector<LayeredEdge> edges;  // each pair once; no box to itself
};

}  // namespace emplace
