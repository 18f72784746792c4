/// What `emplace diff` prints.
#pragma once

#include <string>
#include <vector>

#include "core/report/diff/placement_diff.h"

namespace emplace {

struct DiffReport {
  std::string before, after;       // the two sides, as on the command line
  std::vector<std::string> cause;  // "--simulate-gpus 2, was 3": what was asked of the two sides; may be empty
  size_t top = 20;                 // at most so many lines of a kind
};

std::string diff_text(const PlacementDiff& diff, const DiffReport& report);
/// One line.
std::string diff_json(const PlacementDiff& diff, const DiffReport& report);

}  // namespace emplace
