#include "core/train/nodes_between.h"

#include <algorithm>
#include <deque>

#include "core/train/gradient_path.h"

namespace emplace {

NodesBetween::NodesBetween(const Graph& graph, Endpoint loss, std::span<const Endpoint> xs)
    : graph_(graph), xs_(xs), is_between_(graph.num_nodes(), false) {
  const std::vector<bool> reached = reached_by_xs();
  std::deque<NodeId> queue{loss.node};
  for (; !queue.empty(); queue.pop_front()) {
    const NodeId id = queue.front();
    if (!reached[id] || contains(id)) continue;
    add(id);
    for (const Endpoint& e : graph.inputs(id)) queue.push_back(e.node);
  }
}

void NodesBetween::add(NodeId id) {
  if (!contains(id)) nodes_.push_back(id);
  is_between_[id] = true;
}

// Through outputs that carry gradients.
std::vector<bool> NodesBetween::reached_by_xs() const {
  std::vector<bool> reached(graph_.num_nodes(), false);
  const Consumers consumers(graph_);
  std::vector<NodeId> stack;
  for (Endpoint x : xs_) stack.push_back(x.node);
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    if (reached[id]) continue;
    reached[id] = true;
    for (const Consumers::Edge& edge : consumers.of(id)) {
      if (edge.input >= 0 && carries_gradient(graph_.output_type({id, edge.slot})) && takes_gradient(graph_, edge.node))
        stack.push_back(edge.node);
    }
  }
  return reached;
}

std::vector<int64_t> NodesBetween::num_readers() const {
  std::vector<int64_t> readers(is_between_.size(), 0);
  for (NodeId id : nodes_) {
    for (const Endpoint& e : graph_.inputs(id)) readers[e.node] += contains(e.node);
  }
  return readers;
}

bool NodesBetween::is_end(NodeId id) const {
  if (std::none_of(xs_.begin(), xs_.end(), [&](Endpoint x) { return x.node == id; })) return false;
  const auto inputs = graph_.inputs(id);
  return std::none_of(inputs.begin(), inputs.end(), [&](const Endpoint& e) { return contains(e.node); });
}

}  // namespace emplace
