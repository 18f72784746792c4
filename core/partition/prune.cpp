#include "core/partition/prune.h"

#include <algorithm>

namespace emplace {
namespace {

bool before(Endpoint a, Endpoint b) { return a.node != b.node ? a.node < b.node : a.slot < b.slot; }

}  // namespace

Pruned::Pruned(const Graph& graph, const StepRequest& request)
    : graph_(graph), needed_(graph.num_nodes()), fed_(graph.num_nodes()) {
  for (size_t i = 0; i < request.feeds.size(); ++i) {
    feeds_.push_back({request.feeds[i], static_cast<int>(i)});
    fed_[request.feeds[i].node] = 1;
  }
  std::stable_sort(feeds_.begin(), feeds_.end(),
                   [](const Feed& a, const Feed& b) { return before(a.tensor, b.tensor); });
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
  auto at = std::lower_bound(feeds_.begin(), feeds_.end(), e,
                             [](const Feed& feed, Endpoint wanted) { return before(feed.tensor, wanted); });
  return at != feeds_.end() && at->tensor == e ? at->index : -1;
}

bool Pruned::orders(NodeId source) const { return !fed_[source] || !graph_.traits(source).placeholder; }

}  // namespace emplace
