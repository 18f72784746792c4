/// The rows of `emplace bench --sweep`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/report/bench/time_change.h"
#include "core/report/format.h"

namespace emplace {

struct SweepRow {
  std::vector<std::string> values;  // by key: what was the same nowhere else
  StepTimes steps;                  // none: it failed
  int code = 0;                     // exit code of the measurement
  std::string error;                // of code: why
};

/// kText (for so wide a terminal; 0: any), kMarkdown or kCsv: the whole table, each row compared with the first.
std::string sweep_table(const std::vector<std::string>& keys, std::span<const SweepRow> rows, Format format,
                        size_t width = 0);
/// kJsonl: a line for one of them. `first`: the row that it is compared with.
std::string sweep_line(const std::vector<std::string>& keys, const SweepRow& row, const SweepRow& first);

}  // namespace emplace
