/// The process's exit codes, which the command line promises (README.md), and which Status gets which.
#pragma once

#include <cstdint>

#include "core/base/status.h"

namespace emplace {

/// Beside Blame's own: another task of the cluster, which is absent, lost or was restarted.
inline constexpr Blame kBlamePeer{32};
/// The loss of a task: "... at step 7, node x", the node being that of `status`, if it has one.
Status lost_at_step(const Status& status, int64_t step);

/// 0 ok, 1 execution failed, 2 usage, 3 graph or data invalid, 4 placement unsatisfiable, 5 device unavailable, 6 out
/// of memory, 7 results are not as wanted, 8 timeout, or a task that is not there. What ends a process by a signal is
/// not a status.
int exit_code(const Status& status);

}  // namespace emplace
