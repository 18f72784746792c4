/// LaunchTrace: when each launch of a run began and ended, and on which thread: the run as it is, fused and in
/// parallel. Unlike an observer it changes nothing about the run. A look at the clock and its note take 30 ns, more
/// than many an op does: where launches run one after the other, short ones share theirs (core/run/trace_blocks.h).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "core/device/task_map.h"
#include "core/run/observer.h"
#include "core/run/trace_clock.h"

namespace emplace {

/// What a launch does.
struct LaunchedWork {
  std::vector<NodeId> nodes;  // several: fused, a loop with its body, or a block; of a copy: whose tensor it is
  DeviceId device = kNoDevice;
  DeviceId from = kNoDevice;  // of a copy: whose memory it comes from
  NodeId reader = kNoNode;    // of a copy: the first
  int64_t bytes = 0;          // of its outputs, as far as their shapes are planned
  bool is_loop = false;
  TaskId peer = kNoTask;  // of what is sent to another task, or comes from there, as a copy between their CPUs
  bool receives = false;
  uint32_t transfer = 0;  // its number, the same at both ends
  uint32_t launches = 1;  // more: a block of short ones, one after the other
};

/// Without first values: memory that no span was written to is never touched.
struct LaunchSpan {
  uint32_t work;    // index in LaunchTrace::work()
  uint32_t thread;  // numbered as they come
  int64_t step;
  int64_t start_ns, end_ns;  // since the trace began
};

class LaunchTrace {
 public:
  static constexpr size_t kMaxSpans = 1'000'000;  // 32 MB; the oldest go
  static constexpr int64_t kBeforeSteps = -1;     // initializers run before step 0

  enum class Short { kShared, kEach };  // whether short launches share their looks at the clock

  explicit LaunchTrace(Short launches)
      : shares_(launches == Short::kShared), spans_(std::make_unique_for_overwrite<LaunchSpan[]>(kMaxSpans)) {}
  LaunchTrace(const LaunchTrace&) = delete;
  LaunchTrace& operator=(const LaunchTrace&) = delete;

  /// Between steps. Steps outside of these are not recorded.
  void limit_steps(int64_t first, int64_t last) { first_ = first, last_ = last, begin_step(step_); }
  void begin_step(int64_t step) {
    step_ = step;
    records_ = step >= first_ && step <= last_;
  }
  /// From now on steps run beside each other: each says which it is.
  void begin_numbered_steps() { numbered_ = true; }
  /// Of the step that the session counts as `number`.
  bool records(int64_t number) const { return numbered_ ? number >= first_ && number <= last_ : records_; }

  bool shares() const { return shares_; }

  /// While a program is prepared, or between its steps. Any thread.
  uint32_t add_work(LaunchedWork work) {
    std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    return static_cast<uint32_t>(work_.size() - 1);
  }
  /// Likewise. What it refers to stays where it is.
  const LaunchedWork& work(uint32_t number) const {
    std::lock_guard lock(mutex_);
    return work_[number];
  }
  /// After the run.
  const std::deque<LaunchedWork>& work() const { return work_; }
  int64_t step() const { return step_; }

  /// In the clock's units.
  int64_t now() const { return clock_.now(); }
  double ns_of_unit() const { return clock_.ns_of_unit(); }
  /// Any thread. `start` and `end` as now() says it.
  void add(uint32_t work, int64_t number, int64_t start, int64_t end) {
    const size_t i = next_.fetch_add(1, std::memory_order_relaxed);
    spans_[i % kMaxSpans] = {work, thread_number(), numbered_ ? number : step_, start, end};
  }

  /// Of another trace, as its take_spans() gave it; the steady_clock there shows `ahead_ns` more than the one here.
  void add_from(const LaunchSpan& span, int64_t ahead_ns) {
    const int64_t shift = -ahead_ns - clock_.begin_ns();
    const double ns = clock_.ns_of_unit();
    const auto units = [&](int64_t there) { return static_cast<int64_t>(static_cast<double>(there + shift) / ns); };
    const size_t i = next_.fetch_add(1, std::memory_order_relaxed);
    spans_[i % kMaxSpans] = {span.work, span.thread, step_, units(span.start_ns), units(span.end_ns)};
  }
  /// How wrong `ahead_ns` may have been, at most.
  void set_clock_error(int64_t ns) { clock_error_ns_ = std::max(clock_error_ns_, ns); }
  int64_t clock_error_ns() const { return clock_error_ns_; }

  /// After the run, by their start.
  std::vector<LaunchSpan> spans() const;
  /// Between steps: those of this trace by steady_clock, which it no longer has.
  std::vector<LaunchSpan> take_spans();
  int64_t left_out() const { return next_ > kMaxSpans ? static_cast<int64_t>(next_ - kMaxSpans) : 0; }

 private:
  static uint32_t thread_number();

  const TraceClock clock_;
  const bool shares_;
  const std::unique_ptr<LaunchSpan[]> spans_;
  std::atomic<size_t> next_{0};
  mutable std::mutex mutex_;
  std::deque<LaunchedWork> work_;  // while steps run: guarded by mutex_
  int64_t step_ = kBeforeSteps, first_ = kBeforeSteps, last_ = INT64_MAX;
  int64_t clock_error_ns_ = 0;
  bool records_ = true, numbered_ = false;
};

}  // namespace emplace
