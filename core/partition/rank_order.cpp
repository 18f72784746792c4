#include "core/partition/rank_order.h"

#include <algorithm>
#include <queue>

#include "core/graph/handles.h"
#include "core/partition/meetings.h"

namespace emplace {

bool has_state(const Graph& graph, NodeId node) {
  const NodeType& type = graph.type(node);
  return !type.signature || type.signature->is_stateful || reads_handle(graph, node);
}

// Kahn's order with a heap; positions in `order` stand for nodes.
std::vector<NodeId> order_by_rank(const Graph& graph, const Pruned& pruned, const std::vector<float>& ranks,
                                  const std::vector<NodeId>& order) {
  if (std::any_of(order.begin(), order.end(), [&](NodeId n) { return is_collective(graph, n); })) return order;
  constexpr uint32_t kNowhere = ~uint32_t{0};
  std::vector<uint32_t> position(graph.num_nodes(), kNowhere), missing(order.size());
  std::vector<std::vector<uint32_t>> readers(order.size());
  for (uint32_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  uint32_t last_with_state = kNowhere;
  for (uint32_t i = 0; i < order.size(); ++i) {
    const NodeId node = order[i];
    const auto wait_for = [&](uint32_t source) {
      if (source == kNowhere) return;
      readers[source].push_back(i);
      ++missing[i];
    };
    for (const Endpoint& e : graph.inputs(node)) {
      if (pruned.feed_of(e) < 0) wait_for(position[e.node]);
    }
    for (const Endpoint& e : graph.controls(node)) {
      if (pruned.orders(e.node)) wait_for(position[e.node]);
    }
    if (!has_state(graph, node)) continue;
    wait_for(last_with_state);
    last_with_state = i;
  }
  const auto later = [&](uint32_t a, uint32_t b) {
    const float rank_a = ranks[order[a]], rank_b = ranks[order[b]];
    return rank_a != rank_b ? rank_a < rank_b : a > b;
  };
  std::priority_queue<uint32_t, std::vector<uint32_t>, decltype(later)> ready(later);
  for (uint32_t i = 0; i < order.size(); ++i) {
    if (missing[i] == 0) ready.push(i);
  }
  std::vector<NodeId> ranked;
  ranked.reserve(order.size());
  while (!ready.empty()) {
    const uint32_t next = ready.top();
    ready.pop();
    ranked.push_back(order[next]);
    for (const uint32_t reader : readers[next]) {
      if (--missing[reader] == 0) ready.push(reader);
    }
  }
  return ranked;
}

}  // namespace emplace
