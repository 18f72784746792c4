/// Which node of one graph is which of the other.
#pragma once

#include <cstdint>
#include <vector>

#include "core/report/diff/placement_view.h"

namespace emplace {

inline constexpr uint32_t kNoMatch = ~uint32_t{0};

struct NodeMatch {
  std::vector<uint32_t> of_a, of_b;  // index of the other's node, or kNoMatch
};

/// By name; what is left, by op, attributes and neighbours, where only one node of each side fits.
NodeMatch match_nodes(const PlacementView& a, const PlacementView& b);

}  // namespace emplace
