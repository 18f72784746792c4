#include "core/report/trace_report.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/cat.h"
#include "core/device/device_text.h"
#include "core/device/task_map.h"
#include "core/report/trace_args.h"
#include "core/report/trace_counters.h"
#include "core/report/trace_events.h"

namespace emplace {
namespace {

class TraceWriter {
 public:
  TraceWriter(const TraceFacts& facts, const std::vector<TraceSlice>& slices)
      : f_(facts), g_(*facts.graph), all_(slices), tasks_(*facts.devices), args_(facts) {
    std::copy_if(slices.begin(), slices.end(), std::back_inserter(slices_),
                 [&](const TraceSlice& slice) { return is_shown(*slice.work); });
  }

  std::string write() {
    name_lanes();
    for (const TraceSlice& slice : slices_) write_slice(slice);
    write_flows();
    write_network_flows();
    write_counters();
    std::string other;
    if (f_.left_out > 0) other = cat("\"spans_left_out\": ", f_.left_out);
    if (f_.clock_error_ns > 0) append(other, other.empty() ? "" : ", ", "\"clock_error_us\": ", us(f_.clock_error_ns));
    return events_.finish(other);
  }

 private:
  /// A device's threads, then memories that it copies to.
  struct Lane {
    DeviceId device = kNoDevice;
    DeviceId to = kNoDevice;  // kNoDevice: nodes, not copies
    bool receives = false;    // what comes from there, not what goes there
    uint32_t thread = 0;
    auto operator<=>(const Lane&) const = default;
  };

  bool is_shown(const LaunchedWork& work) const {
    const auto chosen = [&](NodeId node) { return !f_.shown || (*f_.shown)[node]; };
    return std::any_of(work.nodes.begin(), work.nodes.end(), chosen) ||
           (work.reader != kNoNode && chosen(work.reader)) || !f_.shown;
  }
  static bool is_copy(const TraceSlice& slice) { return slice.work->from != kNoDevice; }
  static Lane lane_of(const TraceSlice& slice) {
    const LaunchedWork& work = *slice.work;
    if (work.receives) return {work.device, work.from, true, slice.thread};
    if (is_copy(slice)) return {work.from, work.device, false, slice.thread};
    return {work.device, kNoDevice, false, slice.thread};
  }

  std::string device_name(DeviceId device) const { return short_device_name(*f_.devices, device); }
  /// A process of the trace is a device, or, where several tasks took part, a task.
  bool has_tasks() const { return tasks_.size() > 1; }
  int64_t process_of(DeviceId device) const { return has_tasks() ? tasks_.of[device] : device; }
  std::string process_name(DeviceId device) const {
    return has_tasks() ? tasks_.names[tasks_.of[device]] : device_name(device);
  }
  /// In a task's process: "GPU:0 ", before what is its own.
  std::string owner(DeviceId device) const {
    const DeviceName& name = f_.devices->at(device).parsed;
    return has_tasks() ? cat(f_.devices->at(device).type, ":", name.id.value_or(0), " ") : "";
  }
  static double us(int64_t ns) { return static_cast<double>(ns) / 1e3; }

  void name_lanes() {
    std::map<uint32_t, int> threads;  // numbered in the order of their first slice
    for (const TraceSlice& slice : slices_) {
      threads.try_emplace(slice.thread, static_cast<int>(threads.size()));
      lanes_.try_emplace(lane_of(slice), 0);
    }
    int id = 0;
    std::set<int64_t> named;
    for (auto& [lane, number] : lanes_) {
      devices_.insert(lane.device);
      const int64_t process = process_of(lane.device);
      if (named.insert(process).second) events_.add_name("process_name", process, 0, process_name(lane.device));
      number = id++;
      const std::string beside = threads[lane.thread] == 0 ? "" : cat(" ", threads[lane.thread] + 1);
      events_.add_name("thread_name", process, number,
                       cat(owner(lane.device), lane.to == kNoDevice ? cat("thread ", threads[lane.thread] + 1)
                                                                    : cat(lane.receives ? "waits for " : "copies to ",
                                                                          device_name(lane.to), beside)));
    }
  }

  std::string label_of(const LaunchedWork& work) const {
    if (work.nodes.empty()) return "loop";
    const std::string first(g_.name(work.nodes.front()));
    if (work.is_loop) return cat("loop with ", first);
    return work.nodes.size() == 1 ? first : cat(first, " and ", work.nodes.size() - 1, " more");
  }

  std::string_view category_of(const LaunchedWork& work) const {
    if (work.peer != kNoTask) return work.receives ? "receive" : "send";
    if (work.from != kNoDevice) return "copy";
    if (work.is_loop) return "loop";
    if (work.launches > 1) return "block";
    return work.nodes.size() == 1 ? g_.op(work.nodes.front()) : "fused";
  }

  void write_slice(const TraceSlice& slice) {
    const LaunchedWork& work = *slice.work;
    const Lane lane = lane_of(slice);
    events_.add([&](JsonWriter& json) {
      json.member("ph", "X").member("pid", process_of(lane.device)).member("tid", lanes_.at(lane));
      json.member("name", label_of(work)).member("cat", category_of(work));
      json.member("ts", us(slice.start_ns)).member("dur", us(slice.end_ns - slice.start_ns));
      json.key("args").raw(
          cat("{\"step\": ", slice.step < 0 ? "\"init\"" : cat(slice.step), ", ", args_.of(work), "}"));
    });
  }

  void write_flow(std::string_view phase, int64_t id, const TraceSlice& at, int64_t ns,
                  std::string_view name = "copy") {
    const Lane lane = lane_of(at);
    events_.add([&](JsonWriter& json) {
      json.member("ph", phase).member("pid", process_of(lane.device)).member("tid", lanes_.at(lane)).member("id", id);
      json.member("name", name).member("cat", "flow").member("ts", us(ns)).member("bp", "e");
    });
  }

  /// From the maker's slice through the copy to the first reader's, of copies with both in the same step.
  void write_flows() {
    std::map<NodeId, const TraceSlice*> made;  // of the step at hand, so far
    std::multimap<std::pair<int64_t, NodeId>, std::pair<const TraceSlice*, const TraceSlice*>> waiting;
    int64_t id = 0, step = INT64_MIN;
    for (const TraceSlice& slice : slices_) {
      if (std::exchange(step, slice.step) != slice.step) made.clear();
      if (is_copy(slice)) {
        const auto source = made.find(slice.work->nodes.front());
        if (source != made.end() && slice.work->reader != kNoNode)
          waiting.emplace(std::pair(slice.step, slice.work->reader), std::pair(source->second, &slice));
        continue;
      }
      for (const NodeId node : slice.work->nodes) {
        made[node] = &slice;
        const auto [begin, end] = waiting.equal_range({slice.step, node});
        for (auto it = begin; it != end; ++it) {
          const auto& [source, copy] = it->second;
          write_flow("s", id, *source, source->start_ns);
          write_flow("t", id, *copy, copy->start_ns);
          write_flow("f", id++, slice, slice.start_ns);
        }
        waiting.erase(begin, end);
      }
    }
  }

  /// From what was sent to another task to its arrival there; in loops the first to the first, and so on.
  void write_network_flows() {
    std::map<std::pair<int64_t, uint32_t>, std::deque<const TraceSlice*>> sent;
    for (const TraceSlice& slice : slices_) {
      if (slice.work->peer != kNoTask && !slice.work->receives)
        sent[{slice.step, slice.work->transfer}].push_back(&slice);
    }
    int64_t id = 0;
    for (const TraceSlice& slice : slices_) {
      if (!slice.work->receives) continue;
      auto& source = sent[{slice.step, slice.work->transfer}];
      if (source.empty()) continue;
      write_flow("s", id, *source.front(), source.front()->start_ns, "network");
      write_flow("f", id++, slice, slice.end_ns, "network");
      source.pop_front();
    }
  }

  void write_counters() {
    for (const TraceCount& count : counts_of(g_, all_)) {
      if (!devices_.contains(count.process)) continue;
      events_.add([&](JsonWriter& json) {
        json.member("ph", "C").member("pid", process_of(count.process));
        json.member("name", cat(owner(count.process), counter_name(count, *f_.devices)));
        json.member("ts", us(count.ns)).key("args").begin_object();
        json.member(count.what == TraceCount::What::kReady ? "nodes" : "bytes", count.value).end_object();
      });
    }
  }

  const TraceFacts& f_;
  const Graph& g_;
  const std::vector<TraceSlice>& all_;
  const TaskMap tasks_;
  TraceArgs args_;
  std::vector<TraceSlice> slices_;  // those that are shown
  std::map<Lane, int> lanes_;
  std::set<DeviceId> devices_;  // of lanes
  TraceEvents events_;
};

}  // namespace

std::string trace_json(const TraceFacts& facts, const std::vector<TraceSlice>& slices) {
  return TraceWriter(facts, slices).write();
}

int64_t leave_out_oldest(std::vector<TraceSlice>& slices, int64_t most_lines) {
  auto first = slices.end();
  while (first != slices.begin()) {
    most_lines -= kLinesOfSlice + kLinesOfNode * static_cast<int64_t>(std::prev(first)->work->nodes.size());
    if (most_lines < 0) break;
    --first;
  }
  const int64_t left_out = first - slices.begin();
  slices.erase(slices.begin(), first);
  return left_out;
}

std::vector<TraceSlice> slices_of(const LaunchTrace& trace, const std::vector<LaunchSpan>& spans) {
  std::vector<TraceSlice> slices;
  slices.reserve(spans.size());
  for (const LaunchSpan& span : spans)
    slices.push_back({&trace.work()[span.work], span.thread, span.step, span.start_ns, span.end_ns});
  return slices;
}

std::vector<TraceSlice> slices_of(const TraceRecorder& trace, int64_t most, std::vector<LaunchedWork>& work) {
  const int64_t count = std::min(std::ssize(trace.spans()), std::max<int64_t>(most, 0));
  work.reserve(static_cast<size_t>(count));
  std::vector<TraceSlice> slices;
  slices.reserve(static_cast<size_t>(count));
  for (auto span = trace.spans().end() - count; span != trace.spans().end(); ++span) {
    LaunchedWork& one = work.emplace_back();
    one.nodes = {span->what.node};
    one.device = span->what.device;
    one.from = span->what.from;
    one.bytes = span->bytes;
    slices.push_back({&one, 0, span->step, span->start_ns, span->end_ns});
  }
  return slices;
}

}  // namespace emplace
