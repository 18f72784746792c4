#include "core/report/bench/device_table.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "core/base/cat.h"
#include "core/base/columns.h"
#include "core/base/units.h"
#include "core/device/device_text.h"

namespace emplace {
namespace {

constexpr double kTold = 0.05;  // a share of the step that is worth a line

struct DeviceRow {
  DeviceTime time;
  bool split = false;  // are the waiting times known?
  double busy = 0;     // share of the step
  int64_t peak = 0;
};

/// As the document and the text have it.
double step_us_of(const BenchResult& b) {
  std::vector<double> sorted = b.steps.us;
  std::sort(sorted.begin(), sorted.end());
  return percentile(sorted, 50);
}

std::optional<DeviceTime> split_time(const BenchResult& b, DeviceId device) {
  for (const DeviceTime& time : b.split.devices) {
    if (time.device == device) return time;
  }
  return {};
}

/// Sums of nodes and copies by themselves.
DeviceTime work_alone(const BenchResult& b, DeviceId device) {
  DeviceTime time{.device = device};
  for (const NodeCost& n : b.costs.nodes) time.compute_us += n.device == device ? n.us : 0;
  for (const CopyCost& c : b.costs.copies) time.copies_us += c.to == device ? c.us * c.calls : 0;
  return time;
}

std::vector<DeviceRow> rows_of(const BenchReport& r) {
  const BenchResult& b = *r.result;
  const double step_us = step_us_of(b);
  std::vector<DeviceRow> rows;
  if (b.traced_step_us == 0) return rows;
  for (DeviceId d = 0; d < r.devices->size(); ++d) {
    DeviceRow row;
    const std::optional<DeviceTime> time = split_time(b, d);
    row.split = !b.split.devices.empty();
    row.time = time ? *time : row.split ? DeviceTime{.device = d, .idle_us = step_us} : work_alone(b, d);
    const double of = row.split ? step_us : std::max(step_us, b.traced_step_us);
    row.busy = std::min(1.0, (row.time.compute_us + row.time.copies_us) / of);
    for (const DeviceMemory& m : b.memory) row.peak += m.device == d ? m.peak : 0;
    if (row.busy > 0 || row.peak > 0) rows.push_back(row);
  }
  return rows;
}

std::string share_text(double share) { return cat(std::llround(100 * share), " %"); }

/// Of real GPUs: how much of the work are copies.
std::string copies_hint(const BenchResult& b) {
  double copies = 0, compute = 0;
  int64_t count = 0;
  for (const CopyCost& c : b.costs.copies) copies += c.us * c.calls, count += std::llround(c.calls);
  for (const NodeCost& n : b.costs.nodes) compute += n.us;
  if (count == 0 || copies < kTold * (copies + compute)) return {};
  return cat("* ", count, count == 1 ? " copy carries " : " copies carry ", share_text(copies / (copies + compute)),
             " of the work: emplace copies ", b.facts.file, " --measure\n");
}

}  // namespace

std::string device_table(const BenchReport& r) {
  std::vector<std::vector<std::string>> lines;
  for (const DeviceRow& row : rows_of(r)) {
    const auto of_split = [&](double us) { return row.split ? time_text(us / 1e6) : std::string("-"); };
    lines.push_back({short_device_name(*r.devices, row.time.device), share_text(row.busy),
                     time_text(row.time.compute_us / 1e6), time_text(row.time.copies_us / 1e6),
                     of_split(row.time.wait_data_us), of_split(row.time.wait_lane_us), of_split(row.time.idle_us),
                     size_text(row.peak)});
  }
  return table_text({"device", "busy", "compute", "copies", "wait data", "wait lane", "idle", "peak"}, lines,
                    r.line_width);
}

std::string device_hints(const BenchReport& r) {
  if (r.result->split.devices.empty()) return copies_hint(*r.result);
  const double step_us = step_us_of(*r.result);
  std::string text;
  for (const DeviceTime& time : r.result->split.devices) {
    if (time.waits_for == kNoNode || time.wait_data_us < kTold * step_us) continue;
    append(text, "* ", short_device_name(*r.devices, time.device), " waits ", share_text(time.wait_data_us / step_us),
           " of the step for data: ", time.waits_for_us > 0.5 * time.wait_data_us ? "most of it" : "longest", " for ",
           r.graph->name(time.waits_for), " on ", short_device_name(*r.devices, time.waits_on), "\n");
  }
  const double share = r.result->split.chain_copies_us / step_us;
  if (share < kTold) return text;
  const int64_t count = std::max<int64_t>(1, std::llround(r.result->split.chain_copies));
  return cat(text, "* ", count, count == 1 ? " copy carries " : " copies carry ", share_text(share),
             " of the critical path: emplace copies ", r.result->facts.file, " --measure\n");
}

void write_device_times(JsonWriter& json, const BenchReport& r) {
  json.key("device_times").begin_array();
  for (const DeviceRow& row : rows_of(r)) {
    json.begin_object().member("device", r.devices->at(row.time.device).name).member("busy", row.busy);
    json.member("compute_us", row.time.compute_us).member("copies_us", row.time.copies_us);
    for (const auto& [key, us] : {std::pair{"wait_data_us", row.time.wait_data_us},
                                  {"wait_lane_us", row.time.wait_lane_us},
                                  {"idle_us", row.time.idle_us}}) {
      json.key(key);
      row.split ? json.value(us) : json.null();
    }
    json.key("waits_for");
    if (row.time.waits_for == kNoNode)
      json.null();
    else
      json.begin_object()
          .member("node", r.graph->name(row.time.waits_for))
          .member("device", r.devices->at(row.time.waits_on).name)
          .member("us", row.time.waits_for_us)
          .end_object();
    json.end_object();
  }
  json.end_array().key("critical_path");
  if (r.result->split.devices.empty()) return static_cast<void>(json.null());
  json.begin_object().member("copies", r.result->split.chain_copies);
  json.member("copies_us", r.result->split.chain_copies_us).end_object();
}

}  // namespace emplace
