/// Other programs, run to their end.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"

namespace emplace {

/// What ended a process, and what it said.
struct ProcessEnd {
  int code = 0;      // 128 + n: signal n; 124: took too long
  std::string said;  // both streams, the last 1 MiB
};
/// Runs a program. Unavailable: it cannot be started.
Result<ProcessEnd> run_process(const std::vector<std::string>& words, double timeout_s);

}  // namespace emplace
