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
/// Another task was told to end by this signal, and so is this one. A signal of its own is the first one still.
void stop_from_afar(int signal);

}  // namespace emplace
