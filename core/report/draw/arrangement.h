/// Where everything is that can be seen of a picture while some scopes are open: each scope is laid out by itself, from
/// the inside out, and is a box in the one around it.
#pragma once

#include <vector>

#include "core/report/draw/scope_edges.h"
#include "core/report/draw/seen.h"

namespace emplace {

inline constexpr double kBoxWidth = 184, kBoxHeight = 44;
/// What a closed scope is higher by if copies lie in it: the line that says so.
inline constexpr double kCopiesLine = 15;
/// Between the rim of an open scope and what is inside it; at the top there is its name.
inline constexpr double kScopePad = 16, kScopeHead = 30;

struct Frame {
  double left = 0, top = 0, width = 0, height = 0;
  double middle() const { return left + width / 2; }
  double bottom() const { return top + height; }
};

struct Spot {
  double x = 0, y = 0;
};

/// The line of an edge, downwards.
struct Route {
  bool back = false;  // the edge goes up: the line is that from its end to its beginning
  std::vector<Spot> spots;
};

struct Arrangement {
  std::vector<Frame> node, scope;  // by node and scope; of those that can be seen
  std::vector<Route> routes;       // by edge that can be seen

  const Frame& of(ScopeChild box) const { return (box.is_scope ? scope : node)[box.index]; }
};

/// `seen`: what can be seen while these scopes are open.
Arrangement arrange(const Picture& picture, const ScopeTree& tree, const std::vector<bool>& open, const Seen& seen);

/// One scope with children of these sizes, as it is laid out.
LayeredGraph scope_boxes(const ScopeEdges& edges, std::vector<LayeredBox> sizes);

}  // namespace emplace
