#include "core/report/draw/arrangement.h"

#include <algorithm>
#include <utility>

namespace emplace {
namespace {

class Arranger {
 public:
  Arranger(const Picture& picture, const ScopeTree& tree, const std::vector<bool>& open)
      : tree_(tree), open_(open), inner_(edges_by_scope(picture, tree)), layouts_(tree.scopes.size()) {
    result_.node.resize(picture.nodes.size());
    result_.scope.resize(tree.scopes.size());
  }

  Arrangement arrange(const Seen& seen) {
    measure(0);
    put(0, 0, 0);
    for (const SeenEdge& edge : seen.edges) result_.routes.push_back(route_of(edge));
    return std::move(result_);
  }

 private:
  /// Lays out an open scope, after those inside it, and takes its size from that.
  void measure(uint32_t scope) {
    std::vector<LayeredBox> sizes;
    for (const ScopeChild child : tree_.scopes[scope].children) {
      if (child.is_scope && open_[child.index]) {
        measure(child.index);
        sizes.push_back({result_.scope[child.index].width, result_.scope[child.index].height});
      } else {
        sizes.push_back({kBoxWidth, closed_height(child)});
      }
    }
    layouts_[scope] = lay_out(scope_boxes(inner_[scope], std::move(sizes)));
    Frame& frame = result_.scope[scope];
    frame.width = std::max(kBoxWidth, layouts_[scope].width + 2 * kScopePad);
    frame.height = layouts_[scope].height + kScopeHead + kScopePad;
  }

  double closed_height(ScopeChild child) const {
    const bool holds_copies = child.is_scope && tree_.scopes[child.index].copies.count > 0;
    return kBoxHeight + (holds_copies ? kCopiesLine : 0);
  }

  double content_left(uint32_t scope) const {
    return result_.scope[scope].left + (result_.scope[scope].width - layouts_[scope].width) / 2;
  }
  double content_top(uint32_t scope) const { return result_.scope[scope].top + kScopeHead; }

  void put(uint32_t scope, double left, double top) {
    result_.scope[scope].left = left;
    result_.scope[scope].top = top;
    const LayeredLayout& layout = layouts_[scope];
    for (size_t i = 0; i < tree_.scopes[scope].children.size(); ++i) {
      const ScopeChild child = tree_.scopes[scope].children[i];
      const double x = content_left(scope) + layout.left[i], y = content_top(scope) + layout.top[i];
      if (child.is_scope && open_[child.index]) {
        put(child.index, x, y);
      } else {
        (child.is_scope ? result_.scope : result_.node)[child.index] = {x, y, kBoxWidth, closed_height(child)};
      }
    }
  }

  Route route_of(const SeenEdge& edge) const {
    Route route;
    TreePath from{tree_, edge.from}, to{tree_, edge.to};
    const uint32_t common = common_scope(from, to);
    while (from.parent() != common) from.go_up();
    while (to.parent() != common) to.go_up();
    const std::vector<LayeredEdge>& pairs = inner_[common].edges;
    const auto pair = std::lower_bound(pairs.begin(), pairs.end(), LayeredEdge{from.position(), to.position()});
    const auto index = static_cast<size_t>(pair - pairs.begin());
    route.back = layouts_[common].back[index];
    go_down(route.back ? edge.to : edge.from, common, route.spots);
    follow(common, layouts_[common].edge_lane[index], route.spots);
    std::vector<Spot> end;
    go_up(route.back ? edge.from : edge.to, common, end);
    route.spots.insert(route.spots.end(), end.rbegin(), end.rend());
    return route;
  }

  void follow(uint32_t scope, Lane lane, std::vector<Spot>& route) const {
    const LayeredLayout& layout = layouts_[scope];
    for (uint32_t i = lane.first; i < lane.first + lane.count; ++i) {
      const double x = content_left(scope) + layout.bends[i], top = content_top(scope);
      route.push_back({x, top + layout.layer_top[layout.bend_layer[i]]});
      route.push_back({x, top + layout.layer_bottom[layout.bend_layer[i]]});
    }
  }

  /// From the lower rim of a box to the lower rim of the child of `common` that it is inside of, and of its layer.
  void go_down(ScopeChild box, uint32_t common, std::vector<Spot>& route) const {
    TreePath path{tree_, box};
    route.push_back({result_.of(box).middle(), result_.of(box).bottom()});
    for (;; path.go_up()) {
      const uint32_t scope = path.parent();
      const LayeredLayout& layout = layouts_[scope];
      route.push_back({route.back().x, content_top(scope) + layout.layer_bottom[layout.layer[path.position()]]});
      if (scope == common) return;
      follow(scope, layout.exit_lane[path.position()], route);
      route.push_back({route.back().x, result_.scope[scope].bottom()});
    }
  }

  /// From the upper rim of a box to that of the child of `common` that it is inside of.
  void go_up(ScopeChild box, uint32_t common, std::vector<Spot>& route) const {
    TreePath path{tree_, box};
    route.push_back({result_.of(box).middle(), result_.of(box).top});
    for (; path.parent() != common; path.go_up()) {
      const uint32_t scope = path.parent();
      std::vector<Spot> lane;
      follow(scope, layouts_[scope].enter_lane[path.position()], lane);
      route.insert(route.end(), lane.rbegin(), lane.rend());
      route.push_back({route.back().x, result_.scope[scope].top});
    }
  }

  const ScopeTree& tree_;
  const std::vector<bool>& open_;
  const std::vector<ScopeEdges> inner_;
  std::vector<LayeredLayout> layouts_;  // by scope; of open ones
  Arrangement result_;
};

}  // namespace

LayeredGraph scope_boxes(const ScopeEdges& edges, std::vector<LayeredBox> sizes) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    sizes[i].enters = edges.enters[i];
    sizes[i].exits = edges.exits[i];
  }
  return {std::move(sizes), edges.edges};
}

Arrangement arrange(const Picture& picture, const ScopeTree& tree, const std::vector<bool>& open, const Seen& seen) {
  return Arranger(picture, tree, open).arrange(seen);
}

}  // namespace emplace
