#include "core/report/run_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/base/cat.h"
#include "core/base/columns.h"
#include "core/base/schema.h"
#include "core/base/units.h"

namespace emplace {
namespace {

/// Devices in the order in which people look for them: GPUs, then the rest.
std::vector<const DeviceMemory*> by_interest(const DeviceSet& devices, const std::vector<DeviceMemory>& memory) {
  std::vector<const DeviceMemory*> rows;
  rows.reserve(memory.size());
  for (const DeviceMemory& m : memory) rows.push_back(&m);
  std::stable_partition(rows.begin(), rows.end(), [&](const auto* m) { return devices.at(m->device).type == "GPU"; });
  return rows;
}

}  // namespace

std::string peak_text(const DeviceSet& devices, const std::vector<std::optional<int64_t>>& peaks) {
  std::vector<DeviceId> shown;
  for (DeviceId d = 0; d < peaks.size(); ++d) {
    if (peaks[d].value_or(0) > 0) shown.push_back(d);
  }
  std::stable_partition(shown.begin(), shown.end(), [&](DeviceId d) { return devices.at(d).type == "GPU"; });
  std::string out;
  for (DeviceId d : shown) {
    append(out, out.empty() ? "peak " : ", ", short_device_name(devices, d), " ",
           share_text(*peaks[d], promised_memory(devices.at(d))));
  }
  return out;
}

std::string peak_text(const DeviceSet& devices, const std::vector<DeviceMemory>& memory) {
  std::vector<std::optional<int64_t>> peaks(devices.size());
  for (const DeviceMemory& m : memory) peaks[m.device] = m.peak;
  return peak_text(devices, peaks);
}

std::string memory_table(const DeviceSet& devices, const std::vector<DeviceMemory>& memory, size_t line_width) {
  // Only where there is a CUDA GPU.
  const bool context =
      std::any_of(memory.begin(), memory.end(), [](const DeviceMemory& m) { return m.context.has_value(); });
  std::vector<std::string> header = {"device", "cap", "planned", "variables", "constants", "pool", "peak"};
  if (context) header.emplace_back("context");
  std::vector<std::vector<std::string>> rows;
  for (const DeviceMemory* m : by_interest(devices, memory)) {
    rows.push_back({short_device_name(devices, m->device), m->limit > 0 ? size_text(m->limit) : "none",
                    size_text(m->planned), size_text(m->variables), size_text(m->constants), size_text(m->pool),
                    size_text(m->peak)});
    if (context) rows.back().push_back(m->context ? size_text(*m->context) : "-");
  }
  std::string out = table_text(std::move(header), rows, line_width, 1);
  for (const DeviceMemory* m : by_interest(devices, memory)) {
    if (m->mapped > 0)
      append(out, "mapped ", short_device_name(devices, m->device), " ", size_text(m->mapped),
             " of variables in the checkpoint's files, in no column\n");
  }
  for (const DeviceMemory* m : by_interest(devices, memory)) {
    if (m->live_at_peak.empty()) continue;
    append(out, "live at the peak of ", short_device_name(devices, m->device), ":\n");
    for (const auto& [producer, bytes] : m->live_at_peak) append(out, "  ", size_text(bytes), "  ", producer, "\n");
  }
  return out;
}

std::string memory_json(const DeviceSet& devices, const std::vector<DeviceMemory>& memory) {
  std::string out;
  JsonWriter json(out);
  write_schema(json.begin_object(), Document::kMemory).key("memory").begin_array();
  for (const DeviceMemory& m : memory) {
    json.begin_object().member("device", devices.at(m.device).name).member("cap", m.limit).member("planned", m.planned);
    json.member("variables", m.variables)
        .member("constants", m.constants)
        .member("pool", m.pool)
        .member("peak", m.peak);
    if (m.mapped > 0) json.member("mapped", m.mapped);
    if (m.context) json.member("context", *m.context);
    json.key("live_at_peak").begin_array();
    for (const auto& [producer, bytes] : m.live_at_peak) {
      json.begin_object().member("producer", producer).member("bytes", bytes).end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().end_object();
  return out + "\n";
}

void write_step_times(JsonWriter& json, std::vector<double> step_us) {
  std::sort(step_us.begin(), step_us.end());
  for (double& us : step_us) us = std::round(us * 1e3) / 1e3;  // nanoseconds
  json.begin_object().member("n", step_us.size());
  if (!step_us.empty()) {
    auto nearest_rank = [&](double share) {
      auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(step_us.size())));
      return step_us[std::max<size_t>(rank, 1) - 1];
    };
    json.member("min", step_us.front()).member("p50", nearest_rank(0.5)).member("p90", nearest_rank(0.9));
    json.member("p99", nearest_rank(0.99)).member("max", step_us.back());
  }
  json.end_object();
}

std::string step_times_text(std::vector<double> step_us) {
  std::sort(step_us.begin(), step_us.end());
  const auto nearest = [&](size_t percent) { return step_us[(step_us.size() * percent + 99) / 100 - 1]; };
  const double p50 = nearest(50), scale = p50 >= 1e3 ? 1e3 : 1;
  char text[64];
  std::snprintf(text, sizeof(text), "step %.3g %s p50, %.3g p90", p50 / scale, scale > 1 ? "ms" : "us",
                nearest(90) / scale);
  return text;
}

void write_error(JsonWriter& json, const Status& status) {
  if (status.ok()) {
    json.null();
  } else {
    json.begin_object().member("code", code_name(status.code())).member("message", status.message());
    constexpr std::string_view kFrom = "From ";  // a task of a cluster
    const std::string_view text = status.message();
    if (const size_t end = text.find(":\n"); text.starts_with("From /job:") && end != text.npos)
      json.member("task", text.substr(kFrom.size(), end - kFrom.size())).member("node", status.node());
    json.end_object();
  }
}

}  // namespace emplace
