#include "core/place/gradient_nodes.h"

#include <algorithm>
#include <string_view>

namespace emplace {
namespace {

/// Without "gradients/", or "gradients_1/"; empty if it does not begin so.
std::string_view behind_scope(std::string_view name) {
  constexpr std::string_view kScope = "gradients";
  if (!name.starts_with(kScope)) return {};
  name.remove_prefix(kScope.size());
  if (name.starts_with('_')) name.remove_prefix(std::min(name.size(), name.find_first_not_of("0123456789", 1)));
  if (!name.starts_with('/')) return {};
  name.remove_prefix(1);
  return name;
}

/// "a/mm" of "a/mm_grad/MatMul", where the graph has such a node.
NodeId before_grad(const Graph& graph, std::string_view name) {
  constexpr std::string_view kGrad = "_grad/";
  for (size_t at = name.find(kGrad); at != name.npos; at = name.find(kGrad, at + 1)) {
    if (const NodeId node = graph.find(name.substr(0, at)); node != kNoNode) return node;
  }
  return kNoNode;
}

}  // namespace

NodeId differentiated_node(const Graph& graph, NodeId node) {
  NodeId found = kNoNode;
  for (NodeId of = node; of != kNoNode;) {
    of = before_grad(graph, behind_scope(graph.name(of)));
    if (of != kNoNode) found = of;
  }
  return found;
}

}  // namespace emplace
