/// The program: one graph on its way through the stages. Every subcommand runs them up to one of them, and prints what
/// that one made.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/log.h"
#include "core/partition/copies.h"
#include "core/pipeline_options.h"
#include "core/place/placement.h"
#include "core/plan/planned_memory.h"
#include "core/run/session.h"
#include "core/run/trace.h"
#include "core/run/watchers.h"
#include "core/run_request.h"

namespace emplace {

/// The exit code of a failure in that stage, as the command line promises them.
int exit_code(Stage stage, const Status& status);

struct Timings {
  double load_ms = 0, place_ms = 0, plan_ms = 0;  // load: with validate; plan: with partition
  double first_step_us = 0;
  std::vector<double> step_us;  // steps after the warm-up
};

class Pipeline {
 public:
  /// `path` "-": standard input. `log` must outlive the pipeline.
  Pipeline(PipelineOptions options, std::string path, Log& log)
      : options_(std::move(options)), path_(std::move(path)), log_(log) {}

  /// Runs the stages from the first up to and including `last`. On an error, stage() tells which one failed.
  Status run(Stage last);

  /// Called after every step that counts, with its number from 0. REQUIRES: set before run().
  std::function<Status(int64_t step, const std::vector<Tensor>& outputs)> on_step;
  /// Set by a signal: the execution ends after the current node, with CANCELLED.
  const std::atomic<bool>* stop = nullptr;
  /// Called in validate in place of resolving --fetch and the like: says what will be run, and may add nodes to the
  /// graph. The caller gives the session its steps. REQUIRES: set before run().
  std::function<Status(GraphFile& file, Problems& problems, RunRequest& request)> on_validated;
  /// Called when a file that is only to be checked was loaded or validated, with what that found; may add to it. An
  /// error is one of something beside the graph file. REQUIRES: set before run().
  std::function<Status(const GraphFile& file, Problems& problems)> on_checked;
  /// The graph is to be executed: ops that emplace cannot run are problems of the file, if a fetch needs them.
  bool must_run = false;
  /// Ops that emplace cannot run are problems of the file, needed or not.
  bool check_ops = false;

  Stage stage() const { return stage_; }  // the last one that ran: the one that failed, if one did
  int exit_code(const Status& status) const;

  // What the stages made; in this order, as far as they came.
  const std::string& path() const { return path_; }
  const PipelineOptions& options() const { return options_; }              // with the file's config, after validate
  const std::shared_ptr<const Source>& source() const { return source_; }  // null: could not be read
  const Problems& problems() const { return problems_; }
  const GraphFile* file() const { return file_.get(); }
  const DeviceSet& devices() const { return devices_; }
  const PlaceOptions& place_options() const { return place_options_; }
  const Placement* placement() const { return placement_ ? &*placement_ : nullptr; }
  const std::vector<std::string>& offenders() const { return offenders_; }  // when place failed
  bool soft_placement_helps() const { return soft_placement_helps_; }  // when place failed: with it, it would not have
  const CopyPlan* copies() const { return copies_ ? &*copies_ : nullptr; }
  const RunRequest& request() const { return request_; }
  /// What a run would take of each device's memory, by DeviceId; empty if the graph cannot be
  /// planned. An error is that of a flag which names what to run. REQUIRES: placed.
  Result<std::vector<PlannedMemory>> planned_memory();
  const Session* session() const { return session_.get(); }
  Session* session() { return session_.get(); }
  /// For whoever gives the session its steps: the number of the one that begins, for --trace; and the end of them all,
  /// which writes the trace and makes what --check-numerics=report found the status. `ran`: of the steps.
  void begin_step(int64_t step);
  Status end_steps(Status ran);
  void set_seed(int64_t seed) { options_.run.seed = seed; }        // before plan
  const std::vector<Tensor>& outputs() const { return outputs_; }  // of the last step, in fetch order
  const Timings& timings() const { return timings_; }

 private:
  Status load_file();
  Status validate_file();
  Status check_file();
  Status place_nodes();
  Status find_copies();
  Status plan_run();
  Status execute();
  Status run_steps();
  Status restore();
  Status first_problem() const;
  Status usage_error(Status status) { return usage_error_ = true, status; }
  /// What came of writing the file of an option.
  Status written(Status status, std::string_view option);
  Status log_placement(const std::string& text);
  Status write_log_lines(const std::string& text);
  StepObserver* make_observer();
  Status numerics_status() const;
  void count_time(double seconds);

  PipelineOptions options_;
  std::string path_;
  Log& log_;
  Stage last_ = Stage::kExecute;
  Stage stage_ = Stage::kLoad;
  bool usage_error_ = false;   // what failed was an option
  bool write_failed_ = false;  // or a file that an option names took no more
  std::shared_ptr<const Source> source_;
  Problems problems_;
  std::unique_ptr<GraphFile> file_;
  DeviceSet devices_;
  PlaceOptions place_options_;
  std::optional<Placement> placement_;
  std::vector<std::string> offenders_;
  bool soft_placement_helps_ = false;
  std::optional<CopyPlan> copies_;
  NamedTensors gradients_;  // that fetches ask for
  RunRequest request_;
  std::unique_ptr<StepObserver> eager_log_;
  std::unique_ptr<NumericsCheck> numerics_;
  std::unique_ptr<TraceRecorder> trace_;
  ObserverList observers_;
  std::unique_ptr<Session> session_;
  std::vector<Tensor> outputs_;
  Timings timings_;
};

/// make_device_set() for this process; what there is to warn of goes to `log`.
Result<DeviceSet> find_devices(const DeviceOptions& options, Log& log);

/// What the last finished stage made, for --dump.
std::string dump_text(const Pipeline& pipeline);

}  // namespace emplace
