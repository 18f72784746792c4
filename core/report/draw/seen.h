/// The boxes and edges that a picture shows when some scopes are open and others closed.
#pragma once

#include <utility>
#include <vector>

#include "core/report/draw/scope_tree.h"

namespace emplace {

/// All edges from one visible box to another.
struct SeenEdge {
  ScopeChild from = {}, to = {};
  uint32_t tensors = 0, controls = 0;
  std::vector<uint32_t> copies = {};  // positions in the report's copies, each once

  CopyTotal total(const Picture& picture) const;
};

struct Seen {
  std::vector<ScopeChild> boxes;  // nodes and closed scopes, scope by scope
  std::vector<uint32_t> open;     // open scopes but the root, outer ones first
  std::vector<SeenEdge> edges;    // by their first edge in the picture
};

/// REQUIRES: open[0]; the root is always open.
Seen see(const Picture& picture, const ScopeTree& tree, const std::vector<bool>& open);

}  // namespace emplace
