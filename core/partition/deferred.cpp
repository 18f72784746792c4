#include "core/partition/deferred.h"

namespace emplace {

bool writes_variable(const Graph& graph, NodeId node) {
  const NodeType& type = graph.type(node);
  if (type.input_types.empty()) return false;
  const bool handle = is_ref(type.input_types[0]) || type.input_types[0] == DType::kResource;
  return handle && type.traits->writes_variable;
}

DeferredNodes::DeferredNodes(const Graph& graph, const Pruned& pruned, NodeId guard) : deferred_(graph.num_nodes()) {
  std::vector<uint8_t> before_guard(graph.num_nodes());
  std::vector<NodeId> open{guard};
  before_guard[guard] = 1;
  auto visit = [&](NodeId id) {
    if (pruned.needed(id) && !before_guard[id]) before_guard[id] = 1, open.push_back(id);
  };
  while (!open.empty()) {
    NodeId id = open.back();
    open.pop_back();
    for (const Endpoint& e : graph.inputs(id)) visit(e.node);
    for (const Endpoint& e : graph.controls(id)) visit(e.node);
  }
  for (NodeId id : pruned.nodes()) {  // ascending: inputs come first
    if (before_guard[id]) continue;
    bool put_off = writes_variable(graph, id);
    for (const Endpoint& e : graph.inputs(id)) put_off |= deferred_[e.node] != 0;
    for (const Endpoint& e : graph.controls(id)) put_off |= deferred_[e.node] != 0;
    deferred_[id] = put_off;
  }
}

}  // namespace emplace
