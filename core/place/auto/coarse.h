/// A large problem made small: chains of nodes, and the nodes of a name scope that stand together, become one node and
/// one group. Its search costs less and moves more at once; what it finds is an assignment of the large one.
#pragma once

#include <vector>

#include "core/place/auto/problem.h"

namespace emplace::autoplace {

struct Coarse {
  Problem problem;
  std::vector<uint32_t> group_of;  // by group of the large problem

  /// The same on the large problem: as legal, and as much memory.
  Assignment expanded(const Assignment& at) const;
  /// The way back, of an assignment that the problem was made small with.
  Assignment shrunk(const Assignment& at) const;
};

/// At most `most_nodes` become one. Groups become one only where they have the same candidates and all of them take a
/// small part of any device's memory; with `at`, only where both are on one device there. The time of a step is that of
/// the large problem but for what runs beside each other within a node, and for tensors that never leave it.
Coarse coarsened(const Problem& problem, uint32_t most_nodes, const Assignment* at = nullptr);

}  // namespace emplace::autoplace
