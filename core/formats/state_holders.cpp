#include "core/formats/state_holders.h"

#include "core/op/trait_table.h"

namespace emplace {
namespace {

/// What lives as long as the session can be shared by nodes, which its op says by an attr; what the step makes cannot.
bool holds_state(const GraphFile& file, NodeId id) {
  const std::string_view op = file.graph.op(id);
  const OpSignature* known = file.ops->find(op);
  return known && known->is_stateful && known->find_attr("shared_name") >= 0 && known->outputs.size() == 1 &&
         !traits_of(op).variable;
}

}  // namespace

std::set<std::string, std::less<>> holders_behind(const GraphFile& file, std::vector<NodeId> nodes) {
  const Graph& g = file.graph;
  std::set<std::string, std::less<>> found;
  std::vector<char> seen(g.num_nodes());
  while (!nodes.empty()) {
    const NodeId id = nodes.back();
    nodes.pop_back();
    if (id == kNoNode || seen[id]) continue;
    seen[id] = 1;
    if (holds_state(file, id)) found.emplace(g.name(id));
    for (Endpoint input : g.inputs(id)) nodes.push_back(input.node);
    for (Endpoint control : g.controls(id)) nodes.push_back(control.node);
  }
  return found;
}

}  // namespace emplace
