// emplace copies: everything that moves bytes in a step.
#include "cli/command.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "cli/cluster_flags.h"
#include "cli/files.h"
#include "cli/signals.h"
#include "core/base/cat.h"
#include "core/base/stop.h"
#include "core/report/bench/statistics.h"
#include "core/report/copies/copies_report.h"

namespace emplace {
namespace {

/// How long its steps are, in microseconds: node by node, as they run; 0: nobody looked.
struct Measured {
  double step_us = 0, critical_us = 0;
};

int64_t steps_to_measure(const StageContext& c) {
  constexpr int64_t kSteps = 10;
  return c.options.run.steps > 1 ? c.options.run.steps : kSteps;
}

/// Ready for its first step that counts.
Result<Planned> planned_steps(StageContext& c, const Partitioned& made, const RunRequest& request,
                              std::vector<Tensor>& outputs) {
  ASSIGN_OR_RETURN(Planned planned, plan_run(c, made, request));
  RETURN_IF_ERROR(start_state(c, planned, request));
  RETURN_IF_ERROR(planned.session->step(outputs));  // warms up
  return planned;
}

/// Its steps, before a tracer.
Result<double> measure_copies(StageContext& c, const Partitioned& made, const RunRequest& request, Ledger& ledger) {
  TraceRecorder recorder;
  c.observer = &recorder;
  std::vector<Tensor> outputs;
  ASSIGN_OR_RETURN(const Planned planned, planned_steps(c, made, request, outputs));
  const int64_t steps = steps_to_measure(c);
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < steps; ++i) {
    recorder.begin_step(i);
    RETURN_IF_ERROR(planned.session->step(outputs));
    RETURN_IF_ERROR(stop_status());
  }
  const double us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  add_measured(recorder, ledger);
  c.observer = nullptr;
  return us / static_cast<double>(steps);
}

/// As they run. Launches of real GPUs last longer than their enqueueing: no look at those.
Result<double> measure_launches(StageContext& c, const Partitioned& made, const RunRequest& request, Ledger& ledger) {
  const std::vector<Device>& devices = made.devices->devices;
  if (std::any_of(devices.begin(), devices.end(), [](const Device& d) { return d.kind == DeviceKind::kCuda; }))
    return 0;
  LaunchTrace launches(LaunchTrace::Short::kEach);
  c.launches = &launches;
  std::vector<Tensor> outputs;
  const Result<Planned> planned = planned_steps(c, made, request, outputs);
  c.launches = nullptr;
  if (!planned.ok()) return planned.status();
  std::vector<StepTime> steps;
  for (int64_t i = 0; i < steps_to_measure(c); ++i) {
    launches.begin_step(i);
    const int64_t start = launches.now();
    RETURN_IF_ERROR(planned->session->step(outputs));
    steps.push_back({i, start, launches.now()});
    RETURN_IF_ERROR(stop_status());
  }
  const double ns = launches.ns_of_unit();
  std::vector<double> us;
  for (StepTime& step : steps) {
    step.start_ns = static_cast<int64_t>(static_cast<double>(step.start_ns) * ns);
    step.end_ns = static_cast<int64_t>(static_cast<double>(step.end_ns) * ns);
    us.push_back(static_cast<double>(step.end_ns - step.start_ns) / 1e3);
  }
  add_critical(made.file->graph, launches, steps, median_of(us), ledger);
  return median_of(us);
}

Result<Ledger> ledger_of(const Partitioned& made, const RunRequest& request) {
  StepRequest step;
  for (const Fetch& fetch : request.fetches) step.fetches.push_back(fetch.tensor);
  step.targets = request.targets;
  for (const auto& [tensor, value] : request.feeds) step.feeds.push_back(tensor);
  return step_ledger(*made.file, *made.devices, *made.placement, step, request.init);
}

class CopiesCommand final : public Command {
 public:
  void declare(OptionSet& set, Options& o) override {
    o.pipeline.placing.available_kernels_only = true;
    o.predicts = true;
    set.positional("GRAPH", "Lists what moves bytes in a step: between devices, into and out of GPUs.", o.arguments);
    set.group("The list");
    set.flag("measure", "Run steps and say how long copies take", measure_);
    set.value("top", "N", "Show at most N rows (20)", set_integer(top_, 1));
    declare_filter(set, filter_);
    declare_placed_run(set, o.pipeline);
    declare_execution(set, o.pipeline);
    declare_cluster(set, cluster_);
    set.group("Files and output");
    declare_loading(set, o.pipeline);
    declare_format(set, o, std::array{Format::kText, Format::kJson});
  }

  int run(const Options& options, Log& log) override {
    if (options.arguments.size() != 1) return usage(log, "wanted one graph: emplace copies GRAPH");
    if (Status status = filter_.check(); !status.ok()) return usage(log, status);
    cluster_.server.data_roots = folders_of(options.arguments, options.pipeline);
    ClusterUse use;
    if (const Status status = use.open(cluster_, options.pipeline, log); !status.ok()) return report_error(status, log);
    StageContext c(options.pipeline, options.arguments.front(), log, &stop_flag());
    c.cluster = use.cluster();
    std::optional<Partitioned> made;
    Ledger ledger;
    Measured measured;
    Status gate;
    if (const Status status = make(c, made, ledger, measured, gate); !status.ok()) return fail(c, status);
    if (const Status status = predict(options.pipeline.placing.automatic.costs, *made->devices, ledger); !status.ok())
      return usage(log, status);
    CopiesReport report{c.path,  &made->file->graph,        made->devices.get(), made->placement.get(),
                        &ledger, static_cast<size_t>(top_), measured.step_us,    measured.critical_us,
                        {}};
    std::vector<char> shown;
    if (filter_.any()) {
      Result<std::vector<char>> found = filter_.shown(made->file->graph, *made->devices, *made->placement);
      if (!found.ok()) return usage(log, found.status());
      shown = found.take();
      report.matches = [&](NodeId node) { return shown[node] != 0; };
    }
    report.line_width = output_width();
    options.format == Format::kJson ? print(copies_json(report)) : print_lines(copies_text(report));
    return gate.ok() ? 0 : report_failure(c, gate);
  }

 private:
  Status make(StageContext& c, std::optional<Partitioned>& made, Ledger& ledger, Measured& measured,
              Status& gate) const {
    ASSIGN_OR_RETURN(const Loaded loaded, load_graph(c));
    ASSIGN_OR_RETURN(const Runnable runnable, validate_run(c, loaded, measure_ ? Inputs::kFed : Inputs::kOpen));
    ASSIGN_OR_RETURN(const Placed placed, measure_ ? place_to_run(c, runnable) : place_graph(c, runnable));
    ASSIGN_OR_RETURN(made, partition_graph(c, placed));
    gate = made->verdict;
    ASSIGN_OR_RETURN(ledger, ledger_of(*made, runnable.request));
    if (!measure_) return ok_status();
    // Other tasks do not run node by node.
    if (!c.cluster) {
      ASSIGN_OR_RETURN(measured.step_us, measure_copies(c, *made, runnable.request, ledger));
    }
    ASSIGN_OR_RETURN(measured.critical_us, measure_launches(c, *made, runnable.request, ledger));
    return ok_status();
  }

  /// From tables that 'emplace bench --save-costs' wrote.
  static Status predict(const std::vector<std::string>& files, const DeviceSet& devices, Ledger& ledger) {
    for (const std::string& name : files) {
      ASSIGN_OR_RETURN(const CostTable costs, read_cost_file(name));
      add_predicted(costs, devices, ledger);
    }
    return ok_status();
  }

  bool measure_ = false;
  int64_t top_ = 20;
  NodeFilter filter_;
  ClusterFlags cluster_;
};

}  // namespace

std::unique_ptr<Command> make_copies_command() { return std::make_unique<CopiesCommand>(); }

}  // namespace emplace
