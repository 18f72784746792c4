/// What is to be drawn of a placed graph: the nodes, one edge per pair of them, and which copies an edge stands for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/report/draw/draw.h"

namespace emplace {

struct PictureNode {
  NodeId node = kNoNode;
  DeviceId device = kNoDevice;
  int64_t bytes = -1;  // of its outputs; -1: some shape is not known
  double us = -1;      // of one step; -1: not known
};

/// All that goes from one node to another.
struct PictureEdge {
  uint32_t from = 0, to = 0;  // in Picture::nodes
  uint32_t tensors = 0, controls = 0;
  uint32_t first_copy = 0, num_copies = 0;  // in Picture::copies
};

struct CopyTotal {
  uint32_t count = 0, unknown = 0;  // unknown: those whose size nobody knows
  int64_t bytes = 0;                // of the others

  void add(const Copy& copy) {
    ++count;
    copy.bytes ? bytes += *copy.bytes : ++unknown;
  }
};

struct Picture {
  const PlaceReport* report = nullptr;
  std::vector<PictureNode> nodes;  // in the graph's order: but for loops, what an edge comes from is first
  std::vector<PictureEdge> edges;  // by `to`, then `from`
  std::vector<uint32_t> copies;    // of edges: positions in report->copies->copies
  std::string part;                // "12 of 412 nodes: around 'x'"; empty: the whole graph

  const Graph& graph() const { return report->file->graph; }
  std::string_view name(uint32_t i) const { return graph().name(nodes[i].node); }
  std::span<const uint32_t> copies_of(const PictureEdge& e) const {
    return std::span(copies).subspan(e.first_copy, e.num_copies);
  }
};

/// REQUIRES: the report has a placement and copies.
Picture make_picture(const PlaceReport& report, const DrawRequest& request);

}  // namespace emplace
