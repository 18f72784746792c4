/// StopSignal: why a step should end early, asked between nodes and between pieces of long loops.
#pragma once

#include <atomic>
#include <chrono>

#include "core/base/status.h"

namespace emplace {

struct StopSignal {
  using Clock = std::chrono::steady_clock;

  /// Set from outside (Ctrl-C); may be null.
  const std::atomic<bool>* flag = nullptr;
  double timeout_s = 0;  // of a step; 0: none
  Clock::time_point deadline = Clock::time_point::max();

  /// A step begins now.
  void start();
  bool asked() const { return interrupted() || late(); }
  /// OK while it may go on; Cancelled or DeadlineExceeded.
  Status status() const;

 private:
  bool interrupted() const { return flag && flag->load(std::memory_order_relaxed); }
  bool late() const { return timeout_s > 0 && Clock::now() > deadline; }
};

}  // namespace emplace
