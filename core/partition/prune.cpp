#include "core/partition/prune.h"

namespace emplace {

Pruned::Pruned(const Graph& graph, const Request& request)
    : graph_(graph), needed_(graph.num_nodes()), fed_(graph.num_nodes()) {
  for (size_t i = 0; i < request.feeds.size(); ++i) {
    feeds_.emplace_back(request.feeds[i], static_cast<int>(i));
    fed_[request.feeds[i].node] = 1;
  }
  std::vector<NodeId> open;
  auto need = [&](NodeId id) {
    if (needed_[id]) return;
    needed_[id] = 1;
    open.push_back(id);
  };
  for (const Endpoint& e : request.fetches) {
    if (feed_of(e) < 0) need(e.node);
  }
  for (NodeId id : request.targets) need(id);
  while (!open.empty()) {
    NodeId id = open.back();
    open.pop_back();
    for (const Endpoint& e : graph.inputs(id)) {
      if (feed_of(e) < 0) need(e.node);
    }
    for (const Endpoint& e : graph.controls(id)) {
      if (orders(e.node)) need(e.node);
    }
  }
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    if (needed_[id]) nodes_.push_back(id);
  }
}

int Pruned::feed_of(Endpoint e) const {
  if (!fed_[e.node]) return -1;
  for (const auto& [fed, index] : feeds_) {
    if (fed == e) return index;
  }
  return -1;
}

bool Pruned::orders(NodeId source) const {
  if (!fed_[source]) return true;
  std::string_view op = graph_.op(source);
  return op != "Placeholder" && op != "PlaceholderV2";
}

}  // namespace emplace
