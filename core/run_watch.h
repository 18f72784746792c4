/// RunWatch: what the command line wants to see of a run: the eager log, numbers that are not finite, a trace.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/output_file.h"
#include "core/pipeline.h"
#include "core/report/bench/cost_table.h"
#include "core/report/step_report.h"
#include "core/run/launch_trace.h"
#include "core/run/trace.h"
#include "core/run/watchers.h"

namespace emplace {

/// Refers to the context and the graph, which must outlive it.
class RunWatch {
 public:
  RunWatch(const StageContext& context, const Placed& placed);
  RunWatch(const RunWatch&) = delete;
  RunWatch& operator=(const RunWatch&) = delete;

  /// What is written at the end is begun: what cannot be is told before the first step.
  Status open_files();
  /// For the session; null if nobody watches.
  RunObserver* observer() { return observers_.empty() ? nullptr : &observers_; }
  /// Likewise; it sees the run as it is.
  LaunchTrace* launch_trace() { return launches_.get(); }
  /// The number of the step that begins, for the trace.
  void begin_step(int64_t step);
  /// What runs until the next step begins (initializers, the test data) is no part of a step: a trace shows it with the
  /// next one, a step report leaves it out, from the trace, too.
  void between_steps(int64_t next);
  /// The same of steps beside each other.
  void begin_numbered_steps();
  /// After the last step, also of a run that failed: writes the trace, and makes what --check-numerics=report found the
  /// status. `ran`: of the steps.
  Status end_steps(Status ran);
  /// Of --step-report; nothing where nobody asked.
  std::optional<StepReport> step_report() const;

 private:
  bool traces() const { return !context_.options.run.trace.empty(); }
  Status numerics_status() const;
  std::vector<char> fed_nodes() const;
  std::string trace_text() const;
  /// `work` gets what the slices of an observed run point to, the newest.
  std::vector<TraceSlice> slices(std::vector<LaunchedWork>& work, int64_t most_observed) const;

  // Constant after construction.
  const StageContext& context_;
  const Placed placed_;
  std::unique_ptr<EagerLog> eager_log_;
  std::unique_ptr<NumericsCheck> numerics_;
  std::unique_ptr<TraceRecorder> trace_;   // of runs that are observed node by node, and of those on real GPUs
  std::unique_ptr<LaunchTrace> launches_;  // of all others
  ObserverList observers_;
  std::vector<char> shown_;  // by node: does the trace show it; empty: all
  CostTable costs_;          // of --costs
  OutputFile trace_file_;    // open from open_files() to end_steps()
};

}  // namespace emplace
