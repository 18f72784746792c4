/// What no assignment can beat: the gap that is printed is measured from here.
#pragma once

#include "core/place/auto/budget.h"
#include "core/place/auto/problem.h"

namespace emplace::autoplace {

struct Bound {
  double us = 0;
  const char* name = "none";  // "critical path", "segments", "all work", "largest group", "fractional"
};

/// The largest of those that hold for the goal. Deterministic, unless the time of `budget` ends it; no evaluations of
/// it are taken.
Bound lower_bound(const Problem& problem, Budget& budget);

// The parts.

/// A heavy path, each node on its fastest device, no copies.
double critical_path_us(const Problem& problem);
/// The largest over many heavy paths: a path cut at best into runs that each fit one device's memory, with the copies
/// between them.
double segment_bound_us(const Problem& problem, Budget& budget);
/// Every group on its fastest device: what threads have to do that all devices share.
double all_work_us(const Problem& problem);
/// The busiest lane, had each group its fastest device.
double largest_group_us(const Problem& problem);
/// Of the busiest lane if groups could be split: by weights on devices, under which no assignment has less work.
double fractional_us(const Problem& problem, const Budget& budget);

}  // namespace emplace::autoplace
