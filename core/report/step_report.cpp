#include "core/report/step_report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <utility>

#include "core/base/cat.h"
#include "core/base/schema.h"
#include "core/device/task_map.h"
#include "core/partition/bucket_order.h"

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
  Times compute, copy, send, receive, wait;
  std::map<int64_t, std::pair<int64_t, int64_t>> buckets;  // by number: when its gradients met
};

constexpr int kKinds = 5;

/// Each moment counts once: as computing before copying before sending before receiving before waiting.
std::array<int64_t, kKinds> shares(const TaskStep& step) {
  std::array<int64_t, kKinds> out{};
  Times all;
  int64_t before = 0, kind = 0;
  for (const Times* times : {&step.compute, &step.copy, &step.send, &step.receive, &step.wait}) {
    all.insert(all.end(), times->begin(), times->end());
    const int64_t now = covered_ns(all);
    out[static_cast<size_t>(kind++)] = now - before;
    before = now;
  }
  return out;
}

/// By the node that makes a gradient, or the mean of gradients: its bucket.
std::map<NodeId, int64_t> buckets_of(const Graph& graph) {
  std::map<NodeId, int64_t> out;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    const std::optional<int64_t> bucket = bucket_of(graph, id);
    if (!bucket) continue;
    out[id] = *bucket;
    for (const Endpoint& e : graph.inputs(id)) out.try_emplace(e.node, *bucket);
  }
  return out;
}

class Maker {
 public:
  Maker(const Graph& graph, const DeviceSet& devices, const std::vector<TraceSlice>& slices)
      : tasks_(devices), buckets_(buckets_of(graph)) {
    for (const TraceSlice& slice : slices) {
      if (slice.step < 0 || slice.work->peer == kNoTask || slice.work->receives) continue;
      const auto [sent, is_new] = sent_.try_emplace({slice.work->transfer, slice.step}, slice.end_ns);
      if (!is_new) sent->second = kSeveral;
    }
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
    if (work.receives)
      add_receive(slice, step, tasks_.of[at]);
    else
      (transfer ? step.send : copy ? step.copy : step.compute).push_back(time);
    if (transfer && !work.receives) add_to_bucket(work, step, time);
    const auto [span, is_new] = spans_.try_emplace(slice.step, time);
    if (!is_new) span->second = {std::min(span->second.first, time.first), std::max(span->second.second, time.second)};
  }

  // Until it was sent the receiver waits for the sender, then for the network. Of loops, whose pieces have one number,
  // all is waiting.
  void add_receive(const TraceSlice& slice, TaskStep& step, TaskId at) {
    const LaunchedWork& work = *slice.work;
    const auto found = sent_.find({work.transfer, slice.step});
    const bool known = found != sent_.end() && found->second != kSeveral;
    const int64_t sent = known ? found->second : slice.end_ns;
    const int64_t until = std::clamp(sent, slice.start_ns, slice.end_ns);
    step.wait.emplace_back(slice.start_ns, until);
    step.receive.emplace_back(until, slice.end_ns);
    waited_[{at, tasks_.of[work.from]}] += slice.end_ns - slice.start_ns;
    const int64_t arrived = sent < slice.start_ns ? sent : slice.end_ns;
    add_to_bucket(work, step, {arrived, arrived});
  }

  void add_to_bucket(const LaunchedWork& work, TaskStep& step, std::pair<int64_t, int64_t> time) {
    const auto bucket = buckets_.find(work.nodes.empty() ? kNoNode : work.nodes.front());
    if (bucket == buckets_.end()) return;
    const auto [span, is_new] = step.buckets.try_emplace(bucket->second, time);
    if (!is_new) span->second = {std::min(span->second.first, time.first), std::max(span->second.second, time.second)};
  }

  TaskTimes times_of(TaskId task, double per_us, double step_us) const {
    TaskTimes out;
    out.task = tasks_.names[task];
    for (const auto& [key, step] : steps_) {
      if (key.first != task) continue;
      const auto share = shares(step);
      out.compute_us += static_cast<double>(share[0]) / per_us, out.copy_us += static_cast<double>(share[1]) / per_us;
      out.send_us += static_cast<double>(share[2]) / per_us, out.receive_us += static_cast<double>(share[3]) / per_us;
      out.wait_us += static_cast<double>(share[4]) / per_us;
      Times met, either = step.compute;
      for (const auto& [number, span] : step.buckets) met.push_back(span);
      either.insert(either.end(), met.begin(), met.end());
      const int64_t all_reduce_ns = covered_ns(std::move(met));
      const int64_t hidden_ns = all_reduce_ns + covered_ns(step.compute) - covered_ns(std::move(either));
      out.all_reduce_us += static_cast<double>(all_reduce_ns) / per_us;
      out.all_reduce_hidden_us += static_cast<double>(hidden_ns) / per_us;
    }
    out.other_us = step_us - out.compute_us - out.copy_us - out.send_us - out.receive_us - out.wait_us;
    int64_t most = 0;
    for (const auto& [pair, ns] : waited_) {
      if (pair.first == task && ns > most) most = ns, out.waits_for = tasks_.names[pair.second];
    }
    return out;
  }

  static constexpr int64_t kSeveral = INT64_MIN;

  const TaskMap tasks_;
  const std::map<NodeId, int64_t> buckets_;
  std::map<std::pair<uint32_t, int64_t>, int64_t> sent_;  // by transfer and step: when it was
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

StepReport step_report(const Graph& graph, const DeviceSet& devices, const std::vector<TraceSlice>& slices) {
  return Maker(graph, devices, slices).make();
}

std::string step_report_text(const StepReport& report) {
  std::string out = cat("step ", time_in_us(report.step_us), ", mean of ", report.steps, "\n");
  for (const TaskTimes& t : report.tasks) {
    append(out, "  ", t.task, ": compute ", time_in_us(t.compute_us), ", copies ", time_in_us(t.copy_us), ", send ",
           time_in_us(t.send_us), ", receive ", time_in_us(t.receive_us), ", wait ", time_in_us(t.wait_us));
    if (!t.waits_for.empty()) append(out, " (most for ", t.waits_for, ")");
    append(out, ", other ", time_in_us(t.other_us));
    if (t.all_reduce_us > 0) {
      append(out, "; all-reduce ", time_in_us(t.all_reduce_us), ": ", time_in_us(t.all_reduce_hidden_us), " hidden, ",
             time_in_us(t.all_reduce_us - t.all_reduce_hidden_us), " exposed");
    }
    append(out, "\n");
  }
  if (!report.slowest.empty()) append(out, "slowest: ", report.slowest, "\n");
  out.pop_back();
  return out;
}

namespace {

void write_times(JsonWriter& json, const StepReport& report) {
  json.member("steps", report.steps).member("step_us", report.step_us).key("tasks").begin_array();
  for (const TaskTimes& t : report.tasks) {
    json.begin_object().member("task", t.task).member("compute_us", t.compute_us).member("copy_us", t.copy_us);
    json.member("send_us", t.send_us).member("receive_us", t.receive_us).member("wait_us", t.wait_us);
    json.member("other_us", t.other_us).key("waits_for");
    t.waits_for.empty() ? json.null() : json.value(t.waits_for);
    json.member("all_reduce_us", t.all_reduce_us).member("all_reduce_hidden_us", t.all_reduce_hidden_us);
    json.end_object();
  }
  json.end_array().key("slowest");
  report.slowest.empty() ? json.null() : json.value(report.slowest);
}

}  // namespace

void write_step_report(JsonWriter& json, const StepReport& report) {
  write_times(json.begin_object(), report);
  json.end_object();
}

std::string step_report_json(const StepReport& report) {
  std::string out;
  JsonWriter json(out);
  write_times(write_schema(json.begin_object(), Document::kStepReport), report);
  json.end_object();
  return out;
}

}  // namespace emplace
