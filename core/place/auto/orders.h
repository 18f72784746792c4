/// Linear orders of groups: for what cuts an order into runs, and for moves of a search.
#pragma once

#include <vector>

#include "core/place/auto/problem.h"

namespace emplace::autoplace {

using GroupOrder = std::vector<uint32_t>;

inline constexpr int kPlainOrders = 5;
/// Depth first from both ends, by levels, by bottom rank, as numbered, then `random` others, no two alike.
std::vector<GroupOrder> group_orders(const Problem& problem, int random, uint64_t seed);

/// Nodes so that the inputs of each stand right before it, those of the longest way last.
std::vector<uint32_t> nodes_depth_first(const Problem& problem);

/// By node: the longest way to the end at mean times, copies at their mean.
std::vector<double> mean_ranks(const Problem& problem);

}  // namespace emplace::autoplace
