#include "core/report/draw/picture.h"

#include <algorithm>
#include <tuple>

#include "core/base/cat.h"
#include "core/base/units.h"

namespace emplace {
namespace {

constexpr uint32_t kNotDrawn = ~uint32_t{0};

/// Nodes at most `distance` edges away, whatever the edges' direction.
std::vector<bool> nodes_around(const Graph& graph, NodeId middle, int64_t distance) {
  const Consumers consumers(graph);
  std::vector<bool> near(graph.num_nodes());
  std::vector<NodeId> rim{middle}, next;
  near[middle] = true;
  const auto reach = [&](NodeId node) {
    if (!near[node]) near[node] = true, next.push_back(node);
  };
  for (int64_t step = 0; step < distance && !rim.empty(); ++step) {
    next.clear();
    for (const NodeId node : rim) {
      for (const Endpoint e : graph.inputs(node)) reach(e.node);
      for (const Endpoint e : graph.controls(node)) reach(e.node);
      for (const auto& edge : consumers.of(node)) reach(edge.node);
    }
    rim.swap(next);
  }
  return near;
}

int64_t output_bytes(const Graph& graph, NodeId node) {
  int64_t sum = 0;
  for (uint32_t slot = 0; slot < graph.num_outputs(node); ++slot) {
    const Shape& shape = graph.output_shape({node, slot});
    if (!shape.fully_known()) return -1;
    const auto elements = shape.checked_num_elements();
    if (!elements) return -1;
    sum += *elements * static_cast<int64_t>(storage_size(graph.output_type({node, slot})));
  }
  return sum;
}

/// The copies that a node reads, by reader: (reader, source, copy).
using ReadCopy = std::tuple<NodeId, NodeId, uint32_t>;
std::vector<ReadCopy> read_copies(const CopyPlan& plan) {
  std::vector<ReadCopy> reads;
  for (uint32_t i = 0; i < plan.copies.size(); ++i) {
    const Copy& copy = plan.copies[i];
    if (copy.inside || copy.control) continue;
    for (const NodeId reader : copy.readers) reads.emplace_back(reader, copy.tensor.node, i);
  }
  std::sort(reads.begin(), reads.end());
  return reads;
}

class EdgeCollector {
 public:
  EdgeCollector(Picture& picture, const std::vector<uint32_t>& index)
      : picture_(picture), graph_(picture.graph()), index_(index), reads_(read_copies(*picture.report->copies)) {}

  void add_inputs(uint32_t to) {
    sources_.clear();
    const NodeId node = picture_.nodes[to].node;
    for (const Endpoint e : graph_.inputs(node)) sources_.emplace_back(index_[e.node], false);
    for (const Endpoint e : graph_.controls(node)) sources_.emplace_back(index_[e.node], true);
    std::sort(sources_.begin(), sources_.end());
    for (size_t i = 0; i < sources_.size();) {
      PictureEdge edge{sources_[i].first, to};
      for (; i < sources_.size() && sources_[i].first == edge.from; ++i) {
        ++(sources_[i].second ? edge.controls : edge.tensors);
      }
      if (edge.from == kNotDrawn) continue;
      add_copies(edge, node);
      picture_.edges.push_back(edge);
    }
  }

 private:
  void add_copies(PictureEdge& edge, NodeId reader) {
    edge.first_copy = static_cast<uint32_t>(picture_.copies.size());
    const NodeId source = picture_.nodes[edge.from].node;
    auto read = std::lower_bound(reads_.begin(), reads_.end(), ReadCopy{reader, source, 0});
    for (; read != reads_.end() && std::get<0>(*read) == reader && std::get<1>(*read) == source; ++read) {
      picture_.copies.push_back(std::get<2>(*read));
    }
    edge.num_copies = static_cast<uint32_t>(picture_.copies.size()) - edge.first_copy;
  }

  Picture& picture_;
  const Graph& graph_;
  const std::vector<uint32_t>& index_;  // by NodeId: position in the picture
  const std::vector<ReadCopy> reads_;
  std::vector<std::pair<uint32_t, bool>> sources_;  // of one node: position, control?
};

}  // namespace

Picture make_picture(const PlaceReport& report, const DrawRequest& request) {
  Picture picture;
  picture.report = &report;
  const Graph& graph = report.file->graph;
  std::vector<bool> near;
  if (request.around != kNoNode) near = nodes_around(graph, request.around, request.distance);
  std::vector<uint32_t> index(graph.num_nodes(), kNotDrawn);
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    if (!near.empty() && !near[node]) continue;
    index[node] = static_cast<uint32_t>(picture.nodes.size());
    const double us = request.node_us.empty() ? -1 : request.node_us[node];
    picture.nodes.push_back({node, report.placement->device(node), output_bytes(graph, node), us});
  }
  EdgeCollector edges(picture, index);
  for (uint32_t i = 0; i < picture.nodes.size(); ++i) edges.add_inputs(i);
  if (request.around != kNoNode) {
    picture.part = cat(picture.nodes.size(), " of ", counted(graph.num_nodes(), "node"), ": at most ",
                       counted(request.distance, "edge"), " away from ", graph.name(request.around));
  }
  return picture;
}

}  // namespace emplace
