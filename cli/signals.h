/// SIGINT, SIGTERM and SIGHUP end a run cleanly: the node at work is finished, the exit code is 128 + the signal's
/// number.
#pragma once

#include <atomic>

namespace emplace {

/// Installs the handlers; SIGPIPE and SIGXFSZ become failed writes. A second signal ends the process at once. SIGHUP
/// stays ignored under nohup.
void catch_signals();
/// Set by the first signal.
const std::atomic<bool>& stop_flag();
/// The signal's number, 0 if there was none.
int caught_signal();

}  // namespace emplace
