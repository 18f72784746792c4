/// Boxes in layers, so that edges go down: layers by longest path, order by median sweeps, coordinates by priority
/// (Sugiyama, Tagawa and Toda's way). Linear in boxes and edges but for sorting: long edges have a budget of bends.
#pragma once

#include <cstdint>
#include <vector>

#include "core/report/draw/layered_graph.h"

namespace emplace {

/// Where a line passes the layers between its ends: at x = bends[first + i] in the i-th of them.
struct Lane {
  uint32_t first = 0, count = 0;  // count 0: it goes straight
};

/// In pixels; y grows downwards.
struct LayeredLayout {
  double width = 0, height = 0;
  std::vector<double> left, top;                // of boxes
  std::vector<uint32_t> layer;                  // of boxes; 0: at the top
  std::vector<double> layer_top, layer_bottom;  // of layers
  std::vector<bool> back;                       // of edges: part of a cycle, goes up
  std::vector<double> bends;
  std::vector<uint32_t> bend_layer;
  std::vector<Lane> edge_lane;              // by edge, from its upper end down
  std::vector<Lane> enter_lane, exit_lane;  // by box: from the top to the box, from the box to the bottom
};

LayeredLayout lay_out(const LayeredGraph& graph);

}  // namespace emplace
