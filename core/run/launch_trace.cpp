#include "core/run/launch_trace.h"

#include <algorithm>

namespace emplace {

uint32_t LaunchTrace::thread_number() {
  static std::atomic<uint32_t> numbers{0};
  thread_local const uint32_t kNumber = numbers.fetch_add(1);
  return kNumber;
}

std::vector<LaunchSpan> LaunchTrace::spans() const {
  const size_t count = std::min<size_t>(next_, kMaxSpans);
  std::vector<LaunchSpan> out(spans_.get(), spans_.get() + count);
  const double ns = clock_.ns_of_unit();
  for (LaunchSpan& span : out) {
    span.start_ns = static_cast<int64_t>(static_cast<double>(span.start_ns) * ns);
    span.end_ns = static_cast<int64_t>(static_cast<double>(span.end_ns) * ns);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const LaunchSpan& x, const LaunchSpan& y) { return x.start_ns < y.start_ns; });
  return out;
}

std::vector<LaunchSpan> LaunchTrace::take_spans() {
  std::vector<LaunchSpan> out = spans();
  for (LaunchSpan& span : out) span.start_ns += clock_.begin_ns(), span.end_ns += clock_.begin_ns();
  next_ = 0;
  return out;
}

}  // namespace emplace
