/// The steps of a layered layout (layered_layout.h), each from the result of the one before.
#pragma once

#include <cstdint>
#include <vector>

#include "core/report/draw/layered_graph.h"

namespace emplace {

/// A layer per box: below all that leads to it, sources right above their readers, no layer too wide.
struct Layering {
  std::vector<uint32_t> layer;  // of boxes
  uint32_t num_layers = 0;
  std::vector<bool> back;  // of edges: without them there is no cycle
};
Layering assign_layers(const LayeredGraph& graph);

/// Boxes and bends: whatever takes room in a layer. Items 0.. are the boxes.
struct LayerItems {
  std::vector<std::vector<uint32_t>> rows;          // items of each layer, from left to right
  std::vector<uint32_t> layer;                      // of items
  std::vector<double> width;                        // of items
  std::vector<std::vector<uint32_t>> above, below;  // of items: those linked to it in the next layer
};

/// Eight median sweeps, down and up in turn; the order with the fewest crossings stays.
void order_rows(LayerItems& items);

/// The middles of the items: each as near to the items it is linked to as its neighbours allow, by priority.
std::vector<double> place_items(const LayerItems& items, uint32_t num_boxes);

}  // namespace emplace
