#include "core/report/bench/device_times.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "core/report/bench/launch_order.h"

namespace emplace {
namespace {

constexpr size_t kNoSpan = ~size_t{0};

/// One step's launches, and which of them held up which.
class StepView {
 public:
  StepView(const std::deque<LaunchedWork>& work, const LaunchOrder& order, std::span<const LaunchSpan> spans,
           const StepTime& step)
      : work_(work), order_(order), spans_(spans), step_(step), at_(work.size(), kNoSpan) {
    for (size_t i = 0; i < spans_.size(); ++i) at_[spans_[i].work] = i;
    for (const LaunchSpan& span : spans_) {
      const size_t source = last_source(span);
      ready_.push_back(source == kNoSpan ? spans_.front().start_ns : std::min(spans_[source].end_ns, span.start_ns));
    }
  }

  const LaunchedWork& work(size_t i) const { return work_[spans_[i].work]; }
  const LaunchSpan& span(size_t i) const { return spans_[i]; }
  size_t size() const { return spans_.size(); }
  int64_t ready_ns(size_t i) const { return ready_[i]; }
  const StepTime& step() const { return step_; }

  /// Of what it reads, what came last; nothing that began after it, as a Merge's other input may. REQUIRES: a span of
  /// this view.
  size_t last_source(const LaunchSpan& span) const {
    size_t last = kNoSpan;
    for (const uint32_t source : order_.sources(span.work)) {
      const size_t i = at_[source];
      if (i == kNoSpan || &spans_[i] >= &span) continue;
      if (last == kNoSpan || spans_[i].end_ns > spans_[last].end_ns) last = i;
    }
    return last;
  }

 private:
  const std::deque<LaunchedWork>& work_;
  const LaunchOrder& order_;
  const std::span<const LaunchSpan> spans_;  // by start
  const StepTime step_;
  std::vector<size_t> at_;      // by work
  std::vector<int64_t> ready_;  // by span
};

/// Sums of one device, in nanoseconds.
struct DeviceSum {
  int64_t compute = 0, copies = 0, wait_data = 0, wait_lane = 0, idle = 0;
  bool has_work = false;
  std::map<std::pair<NodeId, DeviceId>, int64_t> waits;  // by what it waited for
};

/// What changes on a device at a moment.
struct Change {
  int64_t at_ns;
  int computing = 0, copying = 0, ready = 0, left = 0;
};

std::vector<Change> changes_of(const StepView& view, const std::vector<size_t>& launches) {
  std::vector<Change> changes;
  for (const size_t i : launches) {
    const int copy = view.work(i).from != kNoDevice ? 1 : 0;
    const LaunchSpan& span = view.span(i);
    changes.push_back({.at_ns = view.step().start_ns, .left = 1});
    changes.push_back({.at_ns = view.ready_ns(i), .ready = 1});
    changes.push_back({span.start_ns, 1 - copy, copy, -1, -1});
    changes.push_back({span.end_ns, copy - 1, -copy, 0, 0});
  }
  std::stable_sort(changes.begin(), changes.end(), [](const Change& x, const Change& y) { return x.at_ns < y.at_ns; });
  return changes;
}

/// Launches of a device by when they have all they read.
std::vector<size_t> by_ready(const StepView& view, DeviceId device) {
  std::vector<size_t> launches;
  for (size_t i = 0; i < view.size(); ++i) {
    if (view.work(i).device == device) launches.push_back(i);
  }
  std::stable_sort(launches.begin(), launches.end(),
                   [&](size_t x, size_t y) { return view.ready_ns(x) < view.ready_ns(y); });
  return launches;
}

/// Who was running from `from` to `until` of all that `launch` waited for, link by link from its end.
void blame_makers(const StepView& view, size_t launch, int64_t from, int64_t until, DeviceSum& sum) {
  while (until > from) {
    launch = view.last_source(view.span(launch));
    if (launch == kNoSpan) return;
    const LaunchSpan& span = view.span(launch);
    const LaunchedWork& work = view.work(launch);
    const int64_t ns = std::min(until, span.end_ns) - std::max(from, span.start_ns);
    if (ns > 0) sum.waits[{work.nodes.front(), work.from == kNoDevice ? work.device : work.from}] += ns;
    until = std::min(until, span.start_ns);
  }
}

void add_device(const StepView& view, DeviceId device, DeviceSum& sum) {
  const std::vector<size_t> launches = by_ready(view, device);
  int64_t now = view.span(0).start_ns;
  sum.idle += now - view.step().start_ns;
  Change state{};
  const auto pass = [&](int64_t until) {
    const int64_t ns = std::max<int64_t>(0, until - now);
    if (state.computing > 0) {
      sum.compute += ns;
    } else if (state.copying > 0) {
      sum.copies += ns;
    } else if (state.ready > 0) {
      sum.wait_lane += ns;
    } else if (state.left == 0) {
      sum.idle += ns;
    } else if (ns > 0) {
      sum.wait_data += ns;
      const auto next = std::lower_bound(launches.begin(), launches.end(), until,
                                         [&](size_t i, int64_t at) { return view.ready_ns(i) < at; });
      if (next != launches.end()) blame_makers(view, *next, now, until, sum);
    }
    now = std::max(now, until);
  };
  for (const Change& change : changes_of(view, launches)) {
    pass(change.at_ns);
    state.computing += change.computing, state.copying += change.copying;
    state.ready += change.ready, state.left += change.left;
  }
  pass(view.step().end_ns);
  sum.has_work = sum.has_work || !launches.empty();
}

/// The launch that ends last, what held it up, and so on: what it reads, or what its thread did before.
void add_chain(const StepView& view, std::map<uint32_t, int64_t>& copy_ns, int64_t& copies) {
  std::vector<size_t> before(view.size(), kNoSpan);  // on its thread
  std::map<uint32_t, size_t> of_thread;
  size_t last = 0;
  for (size_t i = 0; i < view.size(); ++i) {
    const auto at = of_thread.find(view.span(i).thread);
    if (at != of_thread.end()) before[i] = at->second;
    of_thread[view.span(i).thread] = i;
    if (view.span(i).end_ns > view.span(last).end_ns) last = i;
  }
  for (size_t i = last; i != kNoSpan;) {
    const LaunchSpan& span = view.span(i);
    if (view.work(i).from != kNoDevice) copy_ns[span.work] += span.end_ns - span.start_ns, ++copies;
    const size_t source = view.last_source(span), previous = before[i];
    if (source == kNoSpan || previous == kNoSpan)
      i = source == kNoSpan ? previous : source;
    else
      i = view.span(source).end_ns > view.span(previous).end_ns ? source : previous;
  }
}

std::vector<StepTime> middle_half(std::vector<StepTime> steps) {
  std::sort(steps.begin(), steps.end(),
            [](const StepTime& x, const StepTime& y) { return x.end_ns - x.start_ns < y.end_ns - y.start_ns; });
  const size_t skipped = steps.size() / 4;
  return {steps.begin() + static_cast<ptrdiff_t>(skipped), steps.end() - static_cast<ptrdiff_t>(skipped)};
}

DeviceTime time_of(DeviceId device, const DeviceSum& sum, double us_of_ns) {
  const auto us = [&](int64_t ns) { return static_cast<double>(ns) * us_of_ns; };
  DeviceTime time{device,
                  us(sum.compute),
                  us(sum.copies),
                  us(sum.wait_data),
                  us(sum.wait_lane),
                  us(sum.idle),
                  /*waits_for=*/kNoNode};
  int64_t most = 0;
  for (const auto& [what, ns] : sum.waits) {
    if (ns <= most) continue;
    most = ns;
    time.waits_for = what.first, time.waits_on = what.second;
  }
  time.waits_for_us = us(most);
  return time;
}

}  // namespace

StepSplit split_steps(const Graph& graph, const std::deque<LaunchedWork>& work, std::vector<LaunchSpan> spans,
                      std::vector<StepTime> steps, double step_us) {
  std::stable_sort(spans.begin(), spans.end(), [](const LaunchSpan& x, const LaunchSpan& y) {
    return x.step != y.step ? x.step < y.step : x.start_ns < y.start_ns;
  });
  std::vector<char> ran(work.size());
  DeviceId devices = 0;
  for (const LaunchSpan& span : spans) {
    if (span.step >= 0)
      ran[span.work] = 1, devices = std::max<DeviceId>(devices, static_cast<DeviceId>(work[span.work].device + 1));
  }
  const LaunchOrder order(graph, work, ran);
  std::vector<DeviceSum> sums(devices);
  std::map<uint32_t, int64_t> copy_ns;
  int64_t all_ns = 0, copies = 0, counted = 0;
  for (const StepTime& step : middle_half(std::move(steps))) {
    const auto [first, last] =
        std::equal_range(spans.begin(), spans.end(), LaunchSpan{0, 0, step.step, 0, 0},
                         [](const LaunchSpan& x, const LaunchSpan& y) { return x.step < y.step; });
    if (first == last) continue;
    const StepView view(work, order, {first, last}, step);
    for (DeviceId d = 0; d < devices; ++d) add_device(view, d, sums[d]);
    add_chain(view, copy_ns, copies);
    all_ns += step.end_ns - step.start_ns, ++counted;
  }
  StepSplit split;
  if (all_ns <= 0) return split;
  const double us_of_ns = step_us / static_cast<double>(all_ns);
  for (DeviceId d = 0; d < devices; ++d) {
    if (sums[d].has_work) split.devices.push_back(time_of(d, sums[d], us_of_ns));
  }
  for (const auto& [copy, ns] : copy_ns) {
    split.chain_us_of_copy[copy] = static_cast<double>(ns) * us_of_ns;
    split.chain_copies_us += static_cast<double>(ns) * us_of_ns;
  }
  split.chain_copies = static_cast<double>(copies) / static_cast<double>(counted);
  return split;
}

}  // namespace emplace
