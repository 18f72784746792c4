#include "core/report/draw/seen.h"

#include <algorithm>
#include <unordered_map>

namespace emplace {
namespace {

void find_boxes(const ScopeTree& tree, const std::vector<bool>& open, uint32_t scope, Seen& seen) {
  if (scope != 0) seen.open.push_back(scope);
  for (const ScopeChild child : tree.scopes[scope].children) {
    if (child.is_scope && open[child.index]) {
      find_boxes(tree, open, child.index, seen);
    } else {
      seen.boxes.push_back(child);
    }
  }
}

/// The box that stands for each node: itself, or the closed scope around it.
std::vector<uint32_t> box_of_nodes(const ScopeTree& tree, const Seen& seen, size_t nodes) {
  std::vector<uint32_t> box(nodes);
  for (uint32_t b = 0; b < seen.boxes.size(); ++b) {
    const ScopeChild child = seen.boxes[b];
    if (!child.is_scope) {
      box[child.index] = b;
      continue;
    }
    const Scope& scope = tree.scopes[child.index];
    for (uint32_t i = scope.first; i < scope.end; ++i) box[tree.leaves[i]] = b;
  }
  return box;
}

}  // namespace

CopyTotal SeenEdge::total(const Picture& picture) const {
  CopyTotal total;
  for (const uint32_t c : copies) total.add(picture.report->copies->copies[c]);
  return total;
}

Seen see(const Picture& picture, const ScopeTree& tree, const std::vector<bool>& open) {
  Seen seen;
  find_boxes(tree, open, 0, seen);
  const std::vector<uint32_t> box = box_of_nodes(tree, seen, picture.nodes.size());
  std::unordered_map<uint64_t, size_t> index;  // by both boxes
  for (const PictureEdge& edge : picture.edges) {
    const uint32_t from = box[edge.from], to = box[edge.to];
    if (from == to) continue;
    const auto [found, is_new] = index.try_emplace(uint64_t{from} << 32 | to, seen.edges.size());
    if (is_new) seen.edges.push_back({seen.boxes[from], seen.boxes[to]});
    SeenEdge& all = seen.edges[found->second];
    all.tensors += edge.tensors;
    all.controls += edge.controls;
    const auto copies = picture.copies_of(edge);
    all.copies.insert(all.copies.end(), copies.begin(), copies.end());
  }
  for (SeenEdge& edge : seen.edges) {
    std::sort(edge.copies.begin(), edge.copies.end());
    edge.copies.erase(std::unique(edge.copies.begin(), edge.copies.end()), edge.copies.end());
  }
  return seen;
}

}  // namespace emplace
