/// The best of all assignments, for few free groups: branch and bound with the evaluators of the search.
#pragma once

#include "core/place/auto/anneal.h"

namespace emplace::autoplace {

inline constexpr size_t kMostExactGroups = 12;

/// Makes `best` the best one. True if all assignments were looked at or ruled out; false: the budget ended before.
bool find_exact(const Problem& problem, Budget& budget, Found& best);

}  // namespace emplace::autoplace
