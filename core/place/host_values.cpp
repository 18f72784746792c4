#include "core/place/host_values.h"

namespace emplace {

HostValues::HostValues(const Graph& graph)
    : graph_(graph), facts_(graph.types().size()), visited_(graph.num_nodes()), known_(graph.num_nodes(), -1) {}

const HostValues::OpFacts& HostValues::facts(NodeId node) {
  OpFacts& f = facts_[graph_.node(node).type];
  if (!f.known) {
    const NodeType& type = graph_.type(node);
    f = {true, declares_host_output(type), type.traits->passes_host_memory_on, tensor_list_memory(type)};
  }
  return f;
}

bool HostValues::host_only(NodeId node) {
  if (facts(node).passes_on && any_source_declares_host(node)) return true;
  return nearest_list(node) == ListMemory::kHost;
}

bool HostValues::any_source_declares_host(NodeId node) {
  for (Endpoint e : graph_.inputs(node)) {
    if (facts(e.node).declares_host) return true;
  }
  for (Endpoint e : graph_.controls(node)) {
    if (facts(e.node).declares_host) return true;
  }
  return false;
}

// A node with a single variant input has the answer of its source; answers are kept, so that long chains are walked
// once.
ListMemory HostValues::nearest_list(NodeId node) {
  std::vector<NodeId> chain;
  NodeId at = node;
  ListMemory answer = ListMemory::kUndecided;
  ++walk_;
  while (true) {
    if (known_[at] >= 0) {
      answer = static_cast<ListMemory>(known_[at]);
      break;
    }
    if (visited_[at] == walk_) break;  // a loop without a list
    visited_[at] = walk_;
    chain.push_back(at);
    answer = facts(at).list;
    if (answer != ListMemory::kUndecided) break;
    NodeId source = kNoNode;
    int variants = 0;
    for (Endpoint e : graph_.inputs(at)) {
      if (graph_.output_type(e) != DType::kVariant) continue;
      source = e.node;
      ++variants;
    }
    if (variants == 0) break;
    if (variants > 1) {
      answer = walk(at);
      break;
    }
    at = source;
  }
  for (NodeId n : chain) known_[n] = static_cast<int8_t>(answer);
  return answer;
}

// Depth first and backwards over variants. The first list found ends the walk's growth, but nodes that wait already
// are still looked at and overrule it.
ListMemory HostValues::walk(NodeId node) {
  ++walk_;
  ListMemory answer = ListMemory::kUndecided;
  std::vector<NodeId> stack{node};
  while (!stack.empty()) {
    const NodeId at = stack.back();
    stack.pop_back();
    if (visited_[at] == walk_) continue;
    visited_[at] = walk_;
    if (const ListMemory list = facts(at).list; list != ListMemory::kUndecided) answer = list;
    if (answer != ListMemory::kUndecided) continue;
    for (Endpoint e : graph_.inputs(at)) {
      if (graph_.output_type(e) == DType::kVariant) stack.push_back(e.node);
    }
  }
  return answer;
}

}  // namespace emplace
