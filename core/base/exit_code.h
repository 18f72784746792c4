/// The process's exit codes, which the command line promises (README.md), and which Status gets which.
#pragma once

#include "core/base/status.h"

namespace emplace {

/// 0 ok, 1 execution failed, 2 usage, 3 graph or data invalid, 4 placement unsatisfiable, 5 device unavailable, 6 out
/// of memory, 7 results are not as wanted, 8 timeout. What ends a process by a signal is not a status.
int exit_code(const Status& status);

}  // namespace emplace
