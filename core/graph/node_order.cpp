#include "core/graph/node_order.h"
#include "core/op/trait_table.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace emplace {
namespace {

std::span<const Endpoint> all_inputs(const Graph& g, NodeId id) {
  const Node& n = g.node(id);
  return {g.edges_.data() + n.first_input, size_t{n.num_inputs} + n.num_controls};
}

// How many inputs must be built before the node can be.
class InputCounts {
 public:
  explicit InputCounts(const Graph& g) : g_(g), control_(g.num_texts()) {
    for (uint32_t t = 0; t < g.num_texts(); ++t) control_[t] = traits_of(g.text(t)).control;
  }
  uint32_t of(NodeId id) const {
    const Node& n = g_.node(id);
    if (control_[n.op] == Control::kMerge && has_back_edge(id)) return n.num_controls + 1;
    return n.num_inputs + n.num_controls;
  }

 private:
  bool has_back_edge(NodeId id) const {
    auto inputs = g_.inputs(id);
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const Endpoint& e) { return control_[g_.node(e.node).op] == Control::kNextIteration; });
  }
  const Graph& g_;
  std::vector<Control> control_;  // by text id
};

bool in_order(const Graph& g, const InputCounts& counts, std::span<const std::pair<NodeId, NodeId>> also) {
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    auto inputs = all_inputs(g, id);
    auto built = static_cast<uint32_t>(
        std::count_if(inputs.begin(), inputs.end(), [id](const Endpoint& e) { return e.node < id; }));
    if (built < inputs.size() && built < counts.of(id)) return false;
  }
  return std::all_of(also.begin(), also.end(), [](const auto& pair) { return pair.first < pair.second; });
}

// Consumers by node; a node that reads another twice is listed twice.
struct Readers {
  std::vector<uint32_t> first;
  std::vector<NodeId> nodes;

  Readers(const Graph& g, std::span<const std::pair<NodeId, NodeId>> also) : first(g.num_nodes() + size_t{2}) {
    auto each = [&](const auto& visit) {
      for (NodeId id = 0; id < g.num_nodes(); ++id) {
        for (const Endpoint& e : all_inputs(g, id)) visit(e.node, id);
      }
      for (auto [before, after] : also) visit(before, after);
    };
    each([&](NodeId source, NodeId) { ++first[source + size_t{2}]; });
    for (size_t i = 2; i < first.size(); ++i) first[i] += first[i - 1];
    nodes.resize(first.back());
    each([&](NodeId source, NodeId reader) { nodes[first[source + size_t{1}]++] = reader; });
  }
  std::span<const NodeId> of(NodeId id) const { return {nodes.data() + first[id], first[id + 1] - first[id]}; }
};

// Cycles among the nodes that could not be built: walks from each against the data until a node comes again.
std::vector<std::vector<NodeId>> find_cycles(const Graph& g, const std::vector<NodeId>& new_id,
                                             std::span<const std::pair<NodeId, NodeId>> also) {
  std::vector<std::vector<NodeId>> cycles;
  std::vector<NodeId> walk_of(g.num_nodes(), kNoNode);  // the walk that passed a node, named by its first node
  auto unbuilt_source = [&](NodeId id) {
    for (const Endpoint& e : all_inputs(g, id)) {
      if (new_id[e.node] == kNoNode) return e.node;
    }
    auto pair = std::lower_bound(also.begin(), also.end(), id, [](const auto& p, NodeId n) { return p.second < n; });
    for (; pair != also.end() && pair->second == id; ++pair) {
      if (new_id[pair->first] == kNoNode) return pair->first;
    }
    return kNoNode;
  };
  for (NodeId start = 0; start < g.num_nodes(); ++start) {
    if (new_id[start] != kNoNode) continue;
    NodeId at = start;
    while (at != kNoNode && walk_of[at] == kNoNode) {
      walk_of[at] = start;
      at = unbuilt_source(at);
    }
    if (at == kNoNode || walk_of[at] != start) continue;
    std::vector<NodeId> cycle;
    for (NodeId n = at; cycle.empty() || n != at; n = unbuilt_source(n)) cycle.push_back(n);
    std::reverse(cycle.begin(), cycle.end());
    std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
    cycles.push_back(std::move(cycle));
  }
  return cycles;
}

}  // namespace

NodeOrder tensorflow_order(const Graph& g, std::span<const std::pair<NodeId, NodeId>> also) {
  InputCounts counts(g);
  NodeOrder order;
  if (in_order(g, counts, also)) return order;
  Readers readers(g, also);
  std::vector<uint32_t> waiting_for(g.num_nodes());
  for (NodeId id = 0; id < g.num_nodes(); ++id) waiting_for[id] = counts.of(id);
  for (auto [before, after] : also) ++waiting_for[after];

  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (waiting_for[id] == 0) ready.push(id);
  }
  order.new_id.assign(g.num_nodes(), kNoNode);
  NodeId next = 0;
  for (; !ready.empty(); ++next) {
    NodeId id = ready.top();
    ready.pop();
    order.new_id[id] = next;
    for (NodeId reader : readers.of(id)) {
      if (waiting_for[reader] > 0 && --waiting_for[reader] == 0) ready.push(reader);
    }
  }
  if (next < g.num_nodes()) order.cycles = find_cycles(g, order.new_id, also);
  return order;
}

void renumber(Graph& g, std::span<const NodeId> new_id) {
  std::vector<Node> nodes(g.nodes_.size());
  for (size_t i = 0; i < nodes.size(); ++i) nodes[new_id[i]] = g.nodes_[i];
  g.nodes_ = std::move(nodes);
  for (Endpoint& e : g.edges_) {
    if (e.node != kNoNode) e.node = new_id[e.node];
  }
  for (Literal& literal : g.literals_) {
    literal.constant = new_id[literal.constant];
    literal.consumer = new_id[literal.consumer];
  }
  g.name_index_.renumber(new_id);
}

}  // namespace emplace
