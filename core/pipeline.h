/// The stages that lead from a graph file to results: load, validate, place, partition, plan, execute. Each is a
/// function from the value of the one before to its own; a subcommand calls them up to the one that it wants, and
/// prints what that made. Training is core/training.h, which joins in at validate.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/function_stage.h"
#include "core/partition/copies.h"
#include "core/pipeline_options.h"
#include "core/place/placement.h"
#include "core/plan/planned_memory.h"
#include "core/run/session.h"
#include "core/run_request.h"

namespace emplace {

class RunWatch;

struct Timings {
  double load_ms = 0, place_ms = 0, plan_ms = 0;  // load: with validate; plan: with partition
  double first_step_us = 0;
  std::vector<double> step_us;  // steps after the warm-up
};

/// What a report of a failure needs beside the status.
struct Findings {
  std::shared_ptr<const Source> source;  // null: could not be read
  Problems problems;                     // of the graph file
  std::string data_problems;             // check: of the files of training data, whole messages
  std::shared_ptr<const DeviceSet> devices = std::make_shared<DeviceSet>();  // empty before the place stage
  std::vector<std::string> offenders;                                        // nodes that cannot be placed, a line each
  bool soft_placement_helps = false;                                         // with soft placement they could be
};

/// What the stages of one graph share: what is asked of them, where they talk, what they found out.
struct StageContext {
  StageContext(PipelineOptions o, std::string file, Log& l, const std::atomic<bool>* stop_flag = nullptr)
      : options(std::move(o)), path(std::move(file)), log(l), stop(stop_flag) {}

  // Constant after construction, but for what the file's `config` adds to the options in validate.
  PipelineOptions options;
  const std::string path;               // as on the command line; "-": standard input
  Log& log;                             // outlives the context
  const std::atomic<bool>* const stop;  // set by a signal: a run ends after the current node, with CANCELLED

  // Written by the stages.
  Stage stage = Stage::kLoad;  // the last one that began
  Findings found;
  Timings timings;
};

// The values. Copies of them share the graph and all that refers to it.

/// What a graph was made of whose functions were lowered.
struct LoweringFacts {
  std::shared_ptr<const GraphFile> loaded;  // the file as it was read
  std::vector<NodeId> order;                // TensorFlow's order of ids; empty: the graph's own
  Origins origins;
  /// The graph is that of a step, made from a placed graph.
  std::shared_ptr<const StepOrigin> step = nullptr;
};

struct Loaded {
  std::shared_ptr<GraphFile> file;
  std::shared_ptr<const LoweringFacts> lowering = nullptr;  // null: the graph is the file's
};

/// Names and attributes are right, types and shapes known.
struct Validated : Loaded {
  NamedTensors gradients;  // that fetches ask for
};

/// Validated, and what is to be run.
struct Runnable : Validated {
  RunRequest request;
};

struct Placed {
  std::shared_ptr<const GraphFile> file;
  std::shared_ptr<const DeviceSet> devices;
  std::shared_ptr<const PlaceOptions> options;
  std::shared_ptr<const Placement> placement;
  NamedTensors gradients;
  std::shared_ptr<const LoweringFacts> lowering = nullptr;  // null: the graph is the file's
  std::shared_ptr<const StepGraph> step = nullptr;          // what a run would make of it; null: nothing else
};

struct Partitioned : Placed {
  std::shared_ptr<const CopyPlan> copies;
  /// Not OK: a gate does not hold, or --placement-out cannot be written. There is a placement to show all the same.
  Status verdict;
};

/// Memory is planned, kernels are chosen: ready to run.
struct Planned : Partitioned {
  std::shared_ptr<RunWatch> watch;  // outlives the session
  std::shared_ptr<Session> session;
};

// The stages.

/// Reads the file, whatever its format.
Result<Loaded> load_graph(StageContext& context);
/// For a placement: what TensorFlow notices only in a run is a warning.
Result<Validated> validate_graph(StageContext& context, const Loaded& loaded);
/// For a run: ops that emplace cannot run are problems of the file, if a fetch needs them.
Result<Runnable> validate_run(StageContext& context, const Loaded& loaded);
/// For the sake of the placement; described devices will do.
Result<Placed> place_graph(StageContext& context, const Validated& validated);
/// On devices of this machine, or simulated ones.
Result<Placed> place_to_run(StageContext& context, const Validated& validated);
/// Adds the copies between devices, looks at the gates, writes --placement-out.
Result<Partitioned> partition_graph(StageContext& context, const Placed& placed);
/// Memory and kernels. A session for training gets its steps later.
Result<Planned> plan_run(StageContext& context, const Partitioned& partitioned, const RunRequest& request,
                         Steps steps = Steps::kOfRun);
/// All steps. `outputs` are those of the last one, in fetch order, also of a run that failed after it. `on_step`, if
/// any, is called after every step that counts, with its number from 0.
using StepListener = std::function<Status(int64_t step, const std::vector<Tensor>& outputs)>;
Status execute(StageContext& context, const Planned& planned, const RunRequest& request, std::vector<Tensor>& outputs,
               const StepListener& on_step = {});

/// load, validate, place, partition.
Result<Partitioned> partition_file(StageContext& context);

/// load and validate, for all problems of the file in one pass, training data included. `every_op`: ops that emplace
/// cannot run are problems, needed or not.
Result<Validated> check_file(StageContext& context, bool every_op);

/// What a run would take of each device's memory, by DeviceId; empty if the graph cannot be planned. An error is that
/// of a flag which names what to run.
Result<std::vector<PlannedMemory>> predict_memory(const StageContext& context, const Placed& placed);

/// make_device_set() for this process; what there is to warn of goes to `log`: also a GPU that was asked for and is not
/// there. Unavailable: one is required.
Result<DeviceSet> find_devices(const PipelineOptions& options, Log& log);

}  // namespace emplace
