// Part of cli/command.h: what run and train say about a finished run beside its results.
#include <algorithm>

#include "cli/command.h"
#include "core/base/cat.h"
#include "core/place/moved.h"
#include "core/report/placement_log.h"
#include "core/report/run_report.h"
#include "core/run_watch.h"

namespace emplace {

namespace {

/// Nodes that moved where the whole graph was placed, before a step was made of it.
int64_t moved_before_step(const Planned& p) {
  return p.lowering && p.lowering->step ? count_moved(*p.lowering->step, p.file->graph, *p.devices) : 0;
}

}  // namespace

void write_summary(JsonWriter& json, const Planned& p) {
  const int64_t soft = moved_before_step(p) + count_moved_softly(p.file->graph, *p.devices, *p.options, *p.placement);
  json.key("summary").begin_object().member("nodes", p.file->graph.num_nodes()).member("soft", soft);
  json.member("copies", p.session->copies_per_step()).member("copy_bytes", p.session->copy_bytes_per_step());
  json.key("peak").begin_array();
  for (const DeviceMemory& m : p.session->memory()) {
    json.begin_object().member("device", p.devices->at(m.device).name).member("bytes", m.peak).end_object();
  }
  json.end_array().end_object();
}

std::string summary_line(const Planned& p) {
  const int64_t bytes = p.session->copy_bytes_per_step();
  std::string line = placement_summary(p.file->graph, *p.devices, *p.options, *p.placement, *p.copies,
                                       moved_before_step(p), bytes > 0 ? std::optional(bytes) : std::nullopt);
  std::string peak = peak_text(*p.devices, p.session->memory());
  return peak.empty() ? line : cat(line, " | ", peak);
}

void report_memory(std::optional<Format> form, const DeviceSet& devices, const std::vector<DeviceMemory>& memory,
                   Log& log) {
  if (form == Format::kJson) log.problem(memory_json(devices, memory));
  if (form == Format::kText) log.problem(memory_table(devices, memory, error_width()));
}

void report_steps(std::optional<Format> form, const RunWatch& watch, Log& log) {
  const std::optional<StepReport> report = form ? watch.step_report() : std::nullopt;
  if (!report) return;
  if (form == Format::kText) return log.problem(step_report_text(*report));
  log.problem(step_report_json(*report));
}

}  // namespace emplace
