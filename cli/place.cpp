// emplace place: stop after placement, print where everything would be.
#include <array>

#include "cli/cluster_flags.h"
#include "cli/command.h"
#include "cli/kernel_difference.h"
#include "core/base/cat.h"
#include "core/base/heap_limit.h"
#include "core/base/text_file.h"
#include "core/base/units.h"
#include "core/device/device_text.h"
#include "core/report/auto_report.h"
#include "core/report/place_report.h"

namespace emplace {
namespace {

/// A graph larger than this is placed only: its memory plan would take longer than its placement.
constexpr uint32_t kMaxPlannedNodes = 50'000;

/// ResourceExhausted: a device has less than the plan needs.
Status check_peaks(const PlaceReport& r) {
  std::string text;
  for (DeviceId d = 0; d < r.peak_bytes.size(); ++d) {
    const Device& device = r.devices->at(d);
    const int64_t limit = promised_memory(device);
    if (!r.peak_bytes[d] || limit == 0 || *r.peak_bytes[d] <= limit) continue;
    append(text, text.empty() ? "a run will not fit: it needs " : ", and ", size_text(*r.peak_bytes[d]), " of ",
           device.name, ", whose limit is ", size_text(limit), ": ", size_text(*r.peak_bytes[d] - limit), " short");
  }
  return text.empty() ? ok_status() : resource_exhausted(text + "; a smaller batch needs less");
}

/// --memory-report of what a run would take.
void say_memory(std::optional<Format> form, const DeviceSet& devices, std::vector<PlannedMemory>& planned, Log& log) {
  std::vector<DeviceMemory> memory;
  for (DeviceId d = 0; d < planned.size(); ++d) {
    PlannedMemory& m = planned[d];
    DeviceMemory& row = memory.emplace_back();
    row.device = d;
    row.limit = promised_memory(devices.at(d));
    row.planned = m.block;
    row.variables = m.variables;
    row.constants = m.constants;
    row.pool = m.scratch;
    row.peak = m.peak();
    row.live_at_peak = std::move(m.live_at_peak);
    if (!m.known && form)
      log.warning(cat("the memory report leaves out what only a run can know the size of, on ", devices.at(d).name));
  }
  if (planned.empty() && form) log.warning("no memory report: the graph cannot be planned");
  if (!memory.empty()) report_memory(form, devices, memory, log);
}

/// Of GPUs that are not there, or not asked, nobody knows what their kernels take for their work.
void say_what_peaks_leave_out(const DeviceSet& devices, const std::vector<PlannedMemory>& planned, Log& log) {
  std::string names;
  for (DeviceId d = 0; d < planned.size(); ++d) {
    if (planned[d].known && !planned[d].workspaces && planned[d].peak() > 0)
      append(names, names.empty() ? "" : ", ", short_device_name(devices, d));
  }
  if (!names.empty()) log.info(cat("the peak of ", names, " is without what kernels take there for their work"));
}

/// What was made until a failure, or all of it.
PlaceReport place_report(const StageContext& c, const Result<Partitioned>& made) {
  PlaceReport report;
  report.path = c.path;
  report.source = c.found.source.get();
  report.devices = c.found.devices.get();
  report.offenders = c.found.offenders;
  report.load_ms = c.timings.load_ms;
  report.place_ms = c.timings.place_ms;
  report.error = made.ok() ? made->verdict : made.status();
  report.automatic = c.found.automatic.get();
  if (!made.ok()) return report;
  report.file = made->file.get();
  report.options = made->options.get();
  report.placement = made->placement.get();
  report.copies = made->copies.get();
  if (made->lowering) report.origins = &made->lowering->origins;
  return report;
}

/// Of the graph that a run would make.
PlaceReport step_report(const Partitioned& made) {
  PlaceReport report;
  report.file = made.step->file.get();
  report.devices = made.devices.get();
  report.options = &made.step->options;
  report.placement = &made.step->placement;
  report.copies = &made.step->copies;
  report.origins = &made.step->origins;
  return report;
}

/// An error of usage: nothing is left to show.
Status filter_report(const NodeFilter& filter, PlaceReport& report, PlaceReport& step) {
  if (!filter.any() || !report.placement) return ok_status();
  ASSIGN_OR_RETURN(report.shown, filter.shown(report.file->graph, *report.devices, *report.placement));
  if (!report.step) return ok_status();
  Result<std::vector<char>> of_step = filter.shown(step.file->graph, *step.devices, *step.placement);
  step.shown = of_step.ok() ? of_step.take() : std::vector<char>(step.file->graph.num_nodes(), 0);
  return ok_status();
}

/// --gantt, and --trace, which is of runs without --auto.
Status write_schedule(const StageContext& c, const std::string& gantt) {
  if (!c.found.automatic) return ok_status();
  const std::string& trace = c.options.run.trace;
  if (!gantt.empty())
    RETURN_IF_ERROR(
        write_text_file(gantt, gantt_svg(*c.found.automatic)).with_context("--gantt").blamed(Blame::kWrite));
  if (trace.empty()) return ok_status();
  return write_text_file(trace, schedule_trace(*c.found.automatic)).with_context("--trace").blamed(Blame::kWrite);
}

/// What the command has beside the options.
struct PlaceOwnFlags {
  NodeFilter filter;
  std::string gantt;
};

int place_one(const Options& options, const PlaceOwnFlags& own, const std::string& path, Cluster* cluster, Log& log) {
  StageContext c(options.pipeline, path, log);
  c.cluster = cluster;
  const HeapLimit limit;
  const Result<Partitioned> made = partition_file(c);
  PlaceReport report = place_report(c, made), step;
  const auto show = options.format == Format::kText ? print_lines : print;
  report.drain = [show](std::string& text) { show(text), text.clear(); };
  if (made.ok() && made->step) {
    step = step_report(*made);
    report.step = &step;
  }
  report.line_width = options.format == Format::kText ? output_width() : 0;
  if (Status status = filter_report(own.filter, report, step); !status.ok()) return usage(log, status);
  const int code = report.error.ok() ? 0 : report_failure(c, report.error);
  std::vector<PlannedMemory> memory;
  if (made.ok() && (made->file->graph.num_nodes() <= kMaxPlannedNodes || options.memory_report)) {
    Result<std::vector<PlannedMemory>> planned = predict_memory(c, *made);
    if (!planned.ok()) return report_failure(c, planned.status());
    memory = planned.take();
  }
  for (const PlannedMemory& m : memory) {
    report.peak_bytes.push_back(m.known ? std::optional(m.peak()) : std::nullopt);
    report.without_workspaces.push_back(m.known && !m.workspaces);
  }
  const Status fits = check_peaks(report);
  if (report.error.ok()) report.error = fits;
  // A failed gate is reported after the placement, which is shown all the same.
  if (!made.ok() && options.format != Format::kJson) return code;
  const bool only_log =
      code == 0 && options.pipeline.placing.log_device_placement == "stdout" && options.format == Format::kText;
  if (!only_log && options.format == Format::kText && options.arguments.size() > 1) print_lines(path + ":\n");
  if (!only_log) show(place_document(report, options.format));
  if (code != 0) return code;
  if (!only_log) {
    say_kernel_difference(*made, false, log);
    say_what_peaks_leave_out(*made->devices, memory, log);
    say_memory(options.memory_report, *made->devices, memory, log);
  }
  if (const Status drawn = write_schedule(c, own.gantt); !drawn.ok()) return report_failure(c, drawn);
  return fits.ok() ? 0 : report_failure(c, fits);
}

class PlaceCommand final : public Command {
 public:
  void declare(OptionSet& set, Options& o) override {
    o.only_places = true;
    set.positional("GRAPH...", kGraphsHelp, o.arguments);
    declare_placed_run(set, o.pipeline);
    set.text("gantt", "FILE", "Write the schedule of --auto as a picture: FILE.svg", own_.gantt);
    declare_memory_report(set, o);
    declare_cluster_to_plan(set, cluster_, o.pipeline);
    set.group("The list");
    declare_filter(set, own_.filter);
    set.group(kOfARun);
    declare_execution(set, o.pipeline);
    declare_trace(set, o.pipeline);
    declare_outputs(set, o.outputs);
    set.group("Files and output");
    declare_loading(set, o.pipeline);
    declare_keep_going(set, o);
    declare_format(set, o, std::array{Format::kText, Format::kJson, Format::kCsv, Format::kDot, Format::kHtml});
  }

  int run(const Options& options, Log& log) override {
    if (options.arguments.size() > 1 && !options.pipeline.placing.placement_out.empty())
      return usage(log, "--placement-out takes one graph");
    if (own_.filter.any() && (options.format == Format::kDot || options.format == Format::kHtml))
      return usage(
          log, "--nodes, --device and --op are of text, json and csv; a part of a picture: emplace draw --around NODE");
    if (!own_.gantt.empty() && !options.pipeline.placing.automatic.goal)
      return usage(log, "--gantt draws what --auto found");
    if (!own_.gantt.empty() && options.arguments.size() > 1) return usage(log, "--gantt takes one graph");
    if (!options.pipeline.run.trace.empty() && options.pipeline.placing.automatic.goal && options.arguments.size() > 1)
      return usage(log, "--trace takes one graph");
    if (Status status = own_.filter.check(); !status.ok()) return usage(log, status);
    NamedFiles files = options.pipeline.files;
    if (Status status = files.writes(own_.gantt, "--gantt"); !own_.gantt.empty() && !status.ok())
      return usage(log, status);
    ClusterUse use;
    if (const Status status = use.open(cluster_, options.pipeline, log); !status.ok()) return report_error(status, log);
    return for_each_graph(options, log,
                          [&](const std::string& path) { return place_one(options, own_, path, use.cluster(), log); });
  }

 private:
  PlaceOwnFlags own_;
  ClusterFlags cluster_;
};

}  // namespace

std::unique_ptr<Command> make_place_command() { return std::make_unique<PlaceCommand>(); }

}  // namespace emplace
