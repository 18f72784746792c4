#include "core/report/draw/scope_edges.h"

#include <algorithm>

namespace emplace {

std::vector<ScopeEdges> edges_by_scope(const Picture& picture, const ScopeTree& tree) {
  std::vector<ScopeEdges> all(tree.scopes.size());
  for (size_t s = 0; s < all.size(); ++s) {
    all[s].enters.resize(tree.scopes[s].children.size());
    all[s].exits.resize(tree.scopes[s].children.size());
  }
  for (const PictureEdge& edge : picture.edges) {
    TreePath from{tree, {false, edge.from}}, to{tree, {false, edge.to}};
    const uint32_t common = common_scope(from, to);
    for (; from.parent() != common; from.go_up()) all[from.parent()].exits[from.position()] = true;
    for (; to.parent() != common; to.go_up()) all[to.parent()].enters[to.position()] = true;
    if (from.position() != to.position()) all[common].edges.push_back({from.position(), to.position()});
  }
  for (ScopeEdges& scope : all) {
    std::sort(scope.edges.begin(), scope.edges.end());
    scope.edges.erase(std::unique(scope.edges.begin(), scope.edges.end()), scope.edges.end());
  }
  return all;
}

}  // namespace emplace
