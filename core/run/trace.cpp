#include "core/run/trace.h"

namespace emplace {

int64_t TraceRecorder::now_ns() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin_).count();
}

/// For one span more.
bool TraceRecorder::has_room() {
  constexpr size_t kAtOnce = 4096;
  if (full_ || spans_.size() >= kMaxSpans) return false;
  if (spans_.size() % kAtOnce != 0) return true;
  const HostMemory& memory = HostMemory::of_process();
  const int64_t more = kAtOnce * sizeof(Span);
  const int64_t free = memory.limit() - memory.in_use() + held_.bytes();
  full_ = held_.bytes() + more > free / 4 || !held_.resize(held_.bytes() + more).ok();
  return !full_;
}

void TraceRecorder::starting(const ObservedInstruction&) {
  running_ = true;
  started_ns_ = now_ns();
}

Status TraceRecorder::finished(const ObservedInstruction& what, std::span<const Tensor> outputs) {
  int64_t end_ns = now_ns();
  if (!running_) return ok_status();  // a constant
  running_ = false;
  if (!has_room()) return ++left_out_, ok_status();
  int64_t bytes = 0;
  for (const Tensor& t : outputs) {
    if (t.valid()) bytes += static_cast<int64_t>(t.size_bytes());
  }
  spans_.push_back({what, step_, started_ns_, end_ns, bytes});
  return ok_status();
}

}  // namespace emplace
