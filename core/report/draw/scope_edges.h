/// The edges of a picture, each in the scope that has both its ends: there it leads from one child to another.
#pragma once

#include <vector>

#include "core/report/draw/layered_layout.h"
#include "core/report/draw/scope_tree.h"

namespace emplace {

struct ScopeEdges {
  std::vector<LayeredEdge> edges;   // between children, by their positions; sorted, each pair once
  std::vector<bool> enters, exits;  // by child: edges of it, or of what is inside it, that end outside the scope
};

/// By scope.
std::vector<ScopeEdges> edges_by_scope(const Picture& picture, const ScopeTree& tree);

}  // namespace emplace
