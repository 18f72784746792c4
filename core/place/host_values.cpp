#include "core/place/host_values.h"

#include <algorithm>
#include <span>

namespace emplace {

HostValues::HostValues(const Graph& graph, TypeInference inference)
    : graph_(graph),
      inference_(inference),
      facts_(graph.types().size()),
      visited_(graph.num_nodes()),
      known_(graph.num_nodes(), -1) {}

const HostValues::OpFacts& HostValues::facts(NodeId node) {
  OpFacts& f = facts_[graph_.node(node).type];
  if (!f.known) {
    const NodeType& type = graph_.type(node);
    const bool passes_on = type.traits->passes_host_memory_on;
    const bool inferred = (passes_on && !type.traits->body_decides_memory) || type.traits->element_inputs != 0;
    f = {true, declares_host_output(type), passes_on, inferred, tensor_list_memory(type)};
  }
  return f;
}

bool HostValues::host_only(NodeId node) {
  if (facts(node).passes_on && any_source_on_host(node)) return true;
  return nearest_list(node) == ListMemory::kHost;
}

bool HostValues::any_source_on_host(NodeId node) {
  if (on_host_.empty()) infer();
  for (Endpoint e : graph_.inputs(node)) {
    if (on_host_[e.node]) return true;
  }
  for (Endpoint e : graph_.controls(node)) {
    if (on_host_[e.node]) return true;
  }
  return false;
}

// From the nodes whose ops declare it, forwards; what is on the host once stays so, so that loops come to an end.
void HostValues::infer() {
  on_host_.assign(graph_.num_nodes(), false);
  std::vector<NodeId> fresh;
  bool lists_need_it = false;
  for (NodeId node = 0; node < graph_.num_nodes(); ++node) {
    const OpFacts& f = facts(node);
    if (f.inferred && !f.passes_on) lists_need_it = true;
    if (!f.declares_host) continue;
    on_host_[node] = true;
    fresh.push_back(node);
  }
  if (fresh.empty() || inference_ == TypeInference::kNone) return;
  if (inference_ == TypeInference::kIfListsNeedIt && !lists_need_it) return;
  const Consumers consumers(graph_);
  while (!fresh.empty()) {
    const NodeId source = fresh.back();
    fresh.pop_back();
    for (const Consumers::Edge& edge : consumers.of(source)) {
      if (on_host_[edge.node] || !facts(edge.node).inferred || !reads_host_type(edge.node)) continue;
      on_host_[edge.node] = true;
      fresh.push_back(edge.node);
    }
  }
}

bool HostValues::reads_host_type(NodeId node) {
  const std::span<const Endpoint> inputs = graph_.inputs(node);
  const auto on_host = [&](Endpoint e) { return graph_.output_type(e) == DType::kVariant && on_host_[e.node]; };
  if (facts(node).passes_on) return std::any_of(inputs.begin(), inputs.end(), on_host);
  const unsigned typing = graph_.type(node).traits->element_inputs;
  for (size_t i = 0; typing >> i; ++i) {
    if ((typing >> i & 1) && on_host(inputs[i])) return true;
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
