/// A bound of a step's time by what has to be done between two moments: whatever a node waits for that cannot have
/// begun before some time shares the machine from then until the node begins.
#pragma once

#include "core/place/auto/budget.h"
#include "core/place/auto/problem.h"

namespace emplace::autoplace {

/// Holds for every assignment whose step takes less than `below_us`: a node is on no device where the longest way
/// through it would take that long. kNever: for all.
double work_bound_us(const Problem& problem, double below_us, Budget& budget);

}  // namespace emplace::autoplace
