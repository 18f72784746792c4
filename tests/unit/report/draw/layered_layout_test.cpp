#include "core/report/draw/layered_layout.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

using namespace emplace;

namespace {

LayeredGraph boxes(size_t n, std::vector<LayeredEdge> edges) {
  return {std::vector<LayeredBox>(n, {100, 40}), std::move(edges)};
}

/// Boxes of a layer do not overlap, and layers are below each other.
bool apart(const LayeredGraph& g, const LayeredLayout& l) {
  for (size_t a = 0; a < g.boxes.size(); ++a) {
    if (l.left[a] < 0 || l.left[a] + g.boxes[a].width > l.width + 0.01) return false;
    if (l.top[a] + g.boxes[a].height > l.height + 0.01) return false;
    for (size_t b = 0; b < a; ++b) {
      const bool beside = l.left[a] + g.boxes[a].width <= l.left[b] || l.left[b] + g.boxes[b].width <= l.left[a];
      const bool above = l.top[a] + g.boxes[a].height <= l.top[b] || l.top[b] + g.boxes[b].height <= l.top[a];
      if (!beside && !above) return false;
    }
  }
  return true;
}

/// Lines keep out of boxes: where they pass a layer, there is none.
bool lines_pass_beside(const LayeredGraph& g, const LayeredLayout& l) {
  for (size_t i = 0; i < l.bends.size(); ++i) {
    for (size_t b = 0; b < g.boxes.size(); ++b) {
      if (l.layer[b] == l.bend_layer[i] && l.bends[i] > l.left[b] && l.bends[i] < l.left[b] + g.boxes[b].width)
        return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("layout: a chain goes straight down", "[draw]") {
  const LayeredLayout l = lay_out(boxes(3, {{0, 1}, {1, 2}}));
  CHECK(l.layer == std::vector<uint32_t>{0, 1, 2});
  CHECK(l.left == std::vector<double>{0, 0, 0});
  CHECK(l.top == std::vector<double>{0, 40 + kLayerGap, 2 * (40 + kLayerGap)});
  CHECK(l.height == 3 * 40 + 2 * kLayerGap);
}

TEST_CASE("layout: edges that need not cross do not", "[draw]") {
  const LayeredLayout l = lay_out(boxes(4, {{0, 3}, {1, 2}}));
  CHECK((l.left[0] < l.left[1]) == (l.left[3] < l.left[2]));
}

TEST_CASE("layout: a source stands right above its reader, unless it is read from above", "[draw]") {
  LayeredGraph g = boxes(4, {{0, 1}, {1, 2}, {3, 2}});
  CHECK(lay_out(g).layer == std::vector<uint32_t>{0, 1, 2, 1});
  g.boxes[3].enters = true;
  CHECK(lay_out(g).layer[3] == 0);
}

TEST_CASE("layout: of a cycle one edge goes up, and nothing else does", "[draw]") {
  const LayeredLayout l = lay_out(boxes(4, {{0, 1}, {1, 2}, {2, 1}, {2, 3}}));
  CHECK(l.back == std::vector<bool>{false, false, true, false});
  CHECK(l.layer == std::vector<uint32_t>{0, 1, 2, 3});
}

TEST_CASE("layout: a long edge bends around what is between its ends", "[draw]") {
  const LayeredGraph g = boxes(4, {{0, 1}, {0, 3}, {1, 2}, {2, 3}});
  const LayeredLayout l = lay_out(g);
  CHECK(l.edge_lane[1].count == 2);
  CHECK(lines_pass_beside(g, l));
}

TEST_CASE("layout: a layer with too many boxes has several rows", "[draw]") {
  const LayeredLayout l = lay_out(boxes(100, {}));
  CHECK(*std::max_element(l.layer.begin(), l.layer.end()) >= 9);
  CHECK(l.width < 2000);
}

TEST_CASE("layout: nothing at all", "[draw]") {
  const LayeredLayout l = lay_out({});
  CHECK(l.width == 0);
  CHECK(l.height == 0);
}

TEST_CASE("layout: random graphs: boxes apart, edges down, lines beside boxes", "[draw]") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const size_t n = 2 + random() % 60;
    LayeredGraph g;
    for (size_t i = 0; i < n; ++i)
      g.boxes.push_back({20.0 + static_cast<double>(random() % 300), 20.0 + static_cast<double>(random() % 200),
                         random() % 4 == 0, random() % 4 == 0});
    const bool cycles = seed % 3 == 0;
    for (size_t i = 0; i < 2 * n; ++i) {
      const auto a = static_cast<uint32_t>(random() % n), b = static_cast<uint32_t>(random() % n);
      if (a != b) g.edges.push_back(cycles ? LayeredEdge{a, b} : LayeredEdge{std::min(a, b), std::max(a, b)});
    }
    std::sort(g.edges.begin(), g.edges.end());
    g.edges.erase(std::unique(g.edges.begin(), g.edges.end()), g.edges.end());
    const LayeredLayout l = lay_out(g);
    CAPTURE(seed);
    CHECK(apart(g, l));
    CHECK(lines_pass_beside(g, l));
    for (size_t e = 0; e < g.edges.size(); ++e) {
      CHECK((l.layer[g.edges[e].from] > l.layer[g.edges[e].to]) == l.back[e]);
      CHECK((cycles || !l.back[e]));
    }
  }
}
