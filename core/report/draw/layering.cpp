#include "core/report/draw/layering.h"

#include <algorithm>
#include <cmath>

namespace emplace {
namespace {

/// Edges by box: positions in LayeredGraph::edges.
std::vector<std::vector<uint32_t>> edges_from(const LayeredGraph& graph) {
  std::vector<std::vector<uint32_t>> from(graph.boxes.size());
  for (uint32_t e = 0; e < graph.edges.size(); ++e) from[graph.edges[e].from].push_back(e);
  return from;
}

/// Depth first, in the order of boxes: an edge to a box that is being visited closes a cycle. `finished` gets the boxes
/// in an order in which, but for those edges, what is read comes after its readers.
std::vector<bool> find_back_edges(const LayeredGraph& graph, std::vector<uint32_t>& finished) {
  enum : uint8_t { kNew, kOpen, kDone };
  const auto from = edges_from(graph);
  std::vector<uint8_t> state(graph.boxes.size(), kNew);
  std::vector<bool> back(graph.edges.size());
  std::vector<std::pair<uint32_t, uint32_t>> stack;  // box, next of its edges
  for (uint32_t root = 0; root < graph.boxes.size(); ++root) {
    if (state[root] != kNew) continue;
    state[root] = kOpen;
    stack.emplace_back(root, 0);
    while (!stack.empty()) {
      auto& [box, next] = stack.back();
      if (next == from[box].size()) {
        state[box] = kDone;
        finished.push_back(box);
        stack.pop_back();
        continue;
      }
      const uint32_t edge = from[box][next++], to = graph.edges[edge].to;
      if (state[to] == kOpen) back[edge] = true;
      if (state[to] == kNew) state[to] = kOpen, stack.emplace_back(to, 0);
    }
  }
  return back;
}

void longest_paths(const LayeredGraph& graph, const std::vector<uint32_t>& finished, Layering& layering) {
  const auto from = edges_from(graph);
  std::vector<bool> has_input(graph.boxes.size());
  const auto ends = [&](uint32_t e) {
    const LayeredEdge edge = graph.edges[e];
    return layering.back[e] ? LayeredEdge{edge.to, edge.from} : edge;
  };
  for (auto box = finished.rbegin(); box != finished.rend(); ++box) {
    for (const uint32_t e : from[*box]) {
      if (layering.back[e]) continue;
      const uint32_t to = graph.edges[e].to;
      layering.layer[to] = std::max(layering.layer[to], layering.layer[*box] + 1);
    }
  }
  for (uint32_t e = 0; e < graph.edges.size(); ++e) has_input[ends(e).to] = true;
  for (uint32_t box = 0; box < graph.boxes.size(); ++box) {
    if (has_input[box] || graph.boxes[box].enters) continue;
    uint32_t reader = ~uint32_t{0};
    for (const uint32_t e : from[box]) reader = std::min(reader, layering.layer[graph.edges[e].to]);
    if (reader != ~uint32_t{0}) layering.layer[box] = reader - 1;
  }
}

/// A layer with too many boxes becomes several: no edge is inside a layer, so any order of its rows will do.
void split_wide_layers(Layering& layering) {
  const double n = static_cast<double>(layering.layer.size());
  const auto most = static_cast<uint32_t>(std::max(8.0, std::ceil(std::sqrt(n * 0.75))));
  std::vector<std::vector<uint32_t>> boxes;
  for (uint32_t box = 0; box < layering.layer.size(); ++box) {
    if (layering.layer[box] >= boxes.size()) boxes.resize(layering.layer[box] + 1);
    boxes[layering.layer[box]].push_back(box);
  }
  uint32_t row = 0;
  for (const auto& layer : boxes) {
    const size_t rows = (layer.size() + most - 1) / most;
    for (size_t i = 0; i < layer.size(); ++i) {
      layering.layer[layer[i]] = row + static_cast<uint32_t>(i * rows / layer.size());
    }
    row += static_cast<uint32_t>(rows);
  }
  layering.num_layers = row;
}

}  // namespace

Layering assign_layers(const LayeredGraph& graph) {
  Layering layering;
  layering.layer.resize(graph.boxes.size());
  std::vector<uint32_t> finished;
  layering.back = find_back_edges(graph, finished);
  longest_paths(graph, finished, layering);
  split_wide_layers(layering);
  return layering;
}

}  // namespace emplace
