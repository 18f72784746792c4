/// What no assignment can beat: the gap that is printed is measured from here.
#pragma once

#include "core/place/auto/budget.h"
#include "core/place/auto/problem.h"

namespace emplace::autoplace {

struct Bound {
  double us = 0;
  // "critical path", "segments", "work", "all work", "largest group", "fractional", "packing"
  const char* name = "none";
};

/// The largest of those that hold for the goal. Deterministic, unless the time of `budget` ends it; no evaluations of
/// it are taken. `known_us`: what some assignment takes, which the bound never passes.
Bound lower_bound(const Problem& problem, Budget& budget, double known_us = kNever);
/// Of these bounds, those that grow where a better assignment becomes known.
Bound bound_below(const Problem& problem, Budget& budget, double known_us);

// The parts.

/// A heavy path, each node on its fastest device, no copies.
double critical_path_us(const Problem& problem);
/// The largest over many heavy paths: a path cut at best into runs that each fit one device's memory, with the copies
/// between them.
double segment_bound_us(const Problem& problem, Budget& budget);
/// Every group on its fastest device: what threads have to do that all devices share.
double all_work_us(const Problem& problem);

}  // namespace emplace::autoplace
