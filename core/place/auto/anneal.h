/// The search: simulated annealing over moves of one group, a region, a run of an order, a border, a swap. Moves that
/// break memory limits are not evaluated.
#pragma once

#include <vector>

#include "core/place/auto/budget.h"
#include "core/place/auto/orders.h"
#include "core/place/auto/problem.h"

namespace emplace::autoplace {

struct Found {
  Assignment at;
  double us = kNever;
};

/// The value of an assignment by the goal: one evaluation.
double value_of(const Problem& problem, const Assignment& at);

/// Spends at most `evaluations` of the budget from `start` on, the temperature falling from that share of its value.
/// Returns the best that it saw. REQUIRES: `start` fits.
Found anneal(const Problem& problem, const std::vector<GroupOrder>& orders, const Found& start, double temperature,
             int64_t evaluations, Budget& budget, Dice& dice);

}  // namespace emplace::autoplace
