/// Automatic placement as numbers: bounds, starts, search, and the exact answer for small problems. One thread; the
/// same answer for the same problem, seed and budget.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/place/auto/anneal.h"
#include "core/place/auto/bounds.h"

namespace emplace::autoplace {

struct SolveOptions {
  double time_limit_s = 0;  // 0: none; the budget of evaluations ends it
  uint64_t seed = 1;
  int64_t evaluations = 0;  // 0: 20,000 schedules or 2,000,000 loads; without a time limit, fewer of large problems
  bool exact = true;        // where there are few groups; false: always the search
  Budget::StopLook stop = nullptr;
};

/// An assignment that somebody would have made without a search.
struct Start {
  enum class Kind : uint8_t { kOriginal, kHost, kDevice, kHeft, kPeft, kFilled, kContiguous, kCoarse };
  Kind kind;
  uint16_t device = 0;  // of kHost and kDevice
  Found found;
  bool fits = false;
  uint16_t over = 0;  // the first device whose memory it breaks
};

struct Solution {
  Found found;
  double best_us = kNever;     // of the search, also if the original is kept
  bool kept_original = false;  // what was found is less than 2 % better
  bool optimal = false;
  bool fits = false;  // false: nothing was found that does, and `found` is the original
  Bound bound;
  std::vector<Start> starts;
  std::optional<uint16_t> single;  // the device that stands for all that are alone, by whoever measured them
  int64_t evaluations = 0;
  bool cut = false;  // by the time
  double seconds = 0;
};

/// The best of those that have one device do what it can, and the CPU the rest; null: none fits.
const Start* best_single_device(const Solution& solution);

/// All that can be there on the CPU; null: does not fit, or nobody knows what it takes.
const Start* host_alone(const Solution& solution);

Solution solve(const Problem& problem, const SolveOptions& options);

}  // namespace emplace::autoplace
