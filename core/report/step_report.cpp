#include "core/report/step_report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <utility>

#include "core/base/cat.h"
#include "core/device/task_map.h"

namespace emplace {
namespace {

using Times = std::vector<std::pair<int64_t, int64_t>>;  // from, until

/// How much of these times there is, counting once what overlaps.
int64_t covered_ns(Times times) {
  std::sort(times.begin(), times.end());
  int64_t sum = 0, end = INT64_MIN;
  for (const auto& [from, until] : times) {
    sum += std::max<int64_t>(0, until - std::max(from, end));
    end = std::max(end, until);
  }
  return sum;
}

/// What a task did in one step.
struct TaskStep {
  Times compute, copy, send, wait;
};

constexpr int kKinds = 4;

/// Each moment counts once: as computing before copying before sending before waiting.
std::array<int64_t, kKinds> shares(const TaskStep& step) {
  std::array<int64_t, kKinds> out{};
  Times all;
  int64_t before = 0, kind = 0;
  for (const Times* times : {&step.compute, &step.copy, &step.send, &step.wait}) {
    all.insert(all.end(), times->begin(), times->end());
    const int64_t now = covered_ns(all);
    out[static_cast<size_t>(kind++)] = now - before;
    before = now;
  }
  return out;
}

class Maker {
 public:
  Maker(const DeviceSet& devices, const std::vector<TraceSlice>& slices) : tasks_(devices) {
    for (const TraceSlice& slice : slices) {
      if (slice.step >= 0) add(slice);
    }
  }

  StepReport make() const {
    StepReport report;
    report.steps = static_cast<int64_t>(spans_.size());
    const double per_us = 1e3 * static_cast<double>(std::max<int64_t>(report.steps, 1));
    for (const auto& [step, span] : spans_) report.step_us += static_cast<double>(span.second - span.first) / per_us;
    for (TaskId task = 0; task < tasks_.size(); ++task) report.tasks.push_back(times_of(task, per_us, report.step_us));
    const auto least = std::min_element(report.tasks.begin(), report.tasks.end(), [](const auto& a, const auto& b) {
      return a.wait_us + a.other_us < b.wait_us + b.other_us;
    });
    if (report.tasks.size() > 1 && report.steps > 0) report.slowest = least->task;
    return report;
  }

 private:
  void add(const TraceSlice& slice) {
    const LaunchedWork& work = *slice.work;
    const bool transfer = work.peer != kNoTask, copy = work.from != kNoDevice;
    const DeviceId at = copy && !work.receives ? work.from : work.device;
    const std::pair time(slice.start_ns, slice.end_ns);
    TaskStep& step = steps_[{tasks_.of[at], slice.step}];
    (work.receives ? step.wait : transfer ? step.send : copy ? step.copy : step.compute).push_back(time);
    if (work.receives) waited_[{tasks_.of[at], tasks_.of[work.from]}] += time.second - time.first;
    const auto [span, is_new] = spans_.try_emplace(slice.step, time);
    if (!is_new) span->second = {std::min(span->second.first, time.first), std::max(span->second.second, time.second)};
  }

  TaskTimes times_of(TaskId task, double per_us, double step_us) const {
    TaskTimes out;
    out.task = tasks_.names[task];
    for (const auto& [key, step] : steps_) {
      if (key.first != task) continue;
      const auto share = shares(step);
      out.compute_us += static_cast<double>(share[0]) / per_us, out.copy_us += static_cast<double>(share[1]) / per_us;
      out.send_us += static_cast<double>(share[2]) / per_us, out.wait_us += static_cast<double>(share[3]) / per_us;
    }
    out.other_us = step_us - out.compute_us - out.copy_us - out.send_us - out.wait_us;
    int64_t most = 0;
    for (const auto& [pair, ns] : waited_) {
      if (pair.first == task && ns > most) most = ns, out.waits_for = tasks_.names[pair.second];
    }
    return out;
  }

  const TaskMap tasks_;
  std::map<std::pair<TaskId, int64_t>, TaskStep> steps_;  // by task and step
  std::map<std::pair<TaskId, TaskId>, int64_t> waited_;   // by who waits, and for whom
  std::map<int64_t, std::pair<int64_t, int64_t>> spans_;  // by step: its first moment and its last
};

std::string time_in_us(double us) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f us", us);
  return text;
}

}  // namespace

StepReport step_report(const DeviceSet& devices, const std::vector<TraceSlice>& slices) {
  return Maker(devices, slices).make();
}

std::string step_report_text(const StepReport& report) {
  std::string out = cat("step ", time_in_us(report.step_us), ", mean of ", report.steps, "\n");
  for (const TaskTimes& t : report.tasks) {
    append(out, "  ", t.task, ": compute ", time_in_us(t.compute_us), ", copies ", time_in_us(t.copy_us), ", send ",
           time_in_us(t.send_us), ", wait ", time_in_us(t.wait_us));
    if (!t.waits_for.empty()) append(out, " (most for ", t.waits_for, ")");
    append(out, ", other ", time_in_us(t.other_us), "\n");
  }
  if (!report.slowest.empty()) append(out, "slowest: ", report.slowest, "\n");
  out.pop_back();
  return out;
}

void write_step_report(JsonWriter& json, const StepReport& report) {
  json.begin_object().member("steps", report.steps).member("step_us", report.step_us).key("tasks").begin_array();
  for (const TaskTimes& t : report.tasks) {
    json.begin_object().member("task", t.task).member("compute_us", t.compute_us).member("copy_us", t.copy_us);
    json.member("send_us", t.send_us).member("wait_us", t.wait_us).member("other_us", t.other_us).key("waits_for");
    t.waits_for.empty() ? json.null() : json.value(t.waits_for);
    json.end_object();
  }
  json.end_array().key("slowest");
  report.slowest.empty() ? json.null() : json.value(report.slowest);
  json.end_object();
}

}  // namespace emplace
