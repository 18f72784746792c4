/// Trace: when every node and every copy of a run began and ended (--trace).
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>

#include "core/base/host_memory.h"
#include "core/run/observer.h"

namespace emplace {

struct Span {
  ObservedInstruction what;
  int64_t step = 0;      // as given to begin_step()
  int64_t start_ns = 0;  // since the trace began
  int64_t end_ns = 0;
  int64_t bytes = 0;  // of all outputs
};

class TraceRecorder final : public RunObserver {
 public:
  /// 56 MB, and a quarter of the free host memory at most; what comes later is counted only.
  static constexpr size_t kMaxSpans = 1'000'000;
  static constexpr int64_t kInitStep = -1;  // initializers run before step 0

  void begin_step(int64_t step) { step_ = step; }
  bool needs_values() const override { return false; }
  void starting(const ObservedInstruction& what) override;
  Status finished(const ObservedInstruction& what, std::span<const Tensor> outputs) override;

  const std::deque<Span>& spans() const { return spans_; }
  int64_t left_out() const { return left_out_; }

 private:
  int64_t now_ns() const;
  bool has_room();

  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::deque<Span> spans_;
  HostShare held_{HostUse::kPool};  // by spans, for some of them at a time
  bool full_ = false;
  int64_t left_out_ = 0;
  int64_t step_ = kInitStep;
  int64_t started_ns_ = 0;
  bool running_ = false;
};

}  // namespace emplace
