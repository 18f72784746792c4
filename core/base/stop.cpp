#include "core/base/stop.h"

#include <atomic>
#include <chrono>

#include "core/base/cat.h"

namespace emplace {
namespace {

std::atomic<bool> requested{false};
std::atomic<int64_t> deadline_ns{0};  // of the steady clock; 0: none
std::atomic<double> allowed_s{0};

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool too_late() noexcept {
  const int64_t deadline = deadline_ns.load(std::memory_order_relaxed);
  return deadline != 0 && now_ns() >= deadline;
}

}  // namespace

void request_stop() noexcept { requested.store(true, std::memory_order_relaxed); }

void set_deadline(double seconds) {
  constexpr double kMost = 1e9;  // thirty years: what is above does not fit
  allowed_s = seconds;
  deadline_ns = seconds > 0 && seconds < kMost ? now_ns() + static_cast<int64_t>(seconds * 1e9) : 0;
}

bool stop_requested() noexcept { return requested.load(std::memory_order_relaxed) || too_late(); }

Status stop_status() {
  if (requested.load(std::memory_order_relaxed)) return {Code::kCancelled, "interrupted"};
  if (too_late()) return {Code::kDeadlineExceeded, cat("timed out after ", allowed_s.load(), " s")};
  return ok_status();
}

}  // namespace emplace
