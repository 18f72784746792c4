/// The schedule of --auto by where things happen: on a device, or on the way from one to another.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/report/auto_report.h"

namespace emplace {

/// What happens in one place: so many lines that nothing on one of them overlaps.
struct AutoBand {
  std::vector<const AutoReport::Row*> rows;  // by their start
  std::vector<size_t> lines;                 // by row
  size_t num_lines = 0;
};

/// By "GPU:0", "GPU:0 to CPU:0"; what takes no time is left out. The report outlives it.
std::map<std::string, AutoBand> auto_bands(const AutoReport& report);

}  // namespace emplace
