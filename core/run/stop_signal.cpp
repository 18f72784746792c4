#include "core/run/stop_signal.h"

#include <algorithm>

#include "core/base/cat.h"

namespace emplace {

void StopSignal::start() {
  constexpr double kMaxSeconds = 1e9;  // keeps the sum in the clock's range
  if (timeout_s > 0)
    deadline = Clock::now() + std::chrono::nanoseconds(static_cast<int64_t>(std::min(timeout_s, kMaxSeconds) * 1e9));
}

Status StopSignal::status() const {
  if (interrupted()) return {Code::kCancelled, "the run was interrupted"};
  if (late()) return {Code::kDeadlineExceeded, cat("the step did not end within ", timeout_s, " s")};
  return ok_status();
}

}  // namespace emplace
