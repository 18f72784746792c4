/// The values that the stages of the pipeline take and make, each with what the stage promises of it, and what the
/// stages of one graph share.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/function_stage.h"
#include "core/op/checkpoint_access.h"
#include "core/partition/copies.h"
#include "core/pipeline_options.h"
#include "core/place/placement.h"
#include "core/plan/planned_memory.h"
#include "core/report/auto_report.h"
#include "core/run/session.h"
#include "core/run_request.h"
#include "core/signature_request.h"

namespace emplace {

class Cluster;
class RunWatch;
class StepsInFlight;

struct Timings {
  double load_ms = 0, place_ms = 0, plan_ms = 0;  // load: with validate; plan: with partition
  double first_step_us = 0;
  std::vector<double> step_us;  // steps after the warm-up
  double us_per_step = 0;       // of steps in flight, by the clock; 0: they followed each other
};

/// What a report of a failure needs beside the status.
struct Findings {
  std::shared_ptr<const Source> source;  // null: could not be read; there before load: a graph that is in no file
  Problems problems;                     // of the graph file
  std::string data_problems;             // check: of the files of training data, whole messages
  std::shared_ptr<const DeviceSet> devices = std::make_shared<DeviceSet>();  // empty before the place stage
  std::vector<std::string> offenders;                                        // nodes that cannot be placed, a line each
  std::shared_ptr<const AutoReport> automatic;                               // null: no --auto
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
  Cluster* cluster = nullptr;           // whose tasks run the graph; null: this process does. Outlives the session
  RunObserver* observer = nullptr;  // of the run, beside what options ask for; set before plan, outlives the session
  LaunchTrace* launches = nullptr;  // likewise, where no trace is asked for

  // Written by the stages.
  Stage stage = Stage::kLoad;  // the last one that began
  Findings found;
  Timings timings;
  std::shared_ptr<const GraphModel> model;  // of a MetaGraph or SavedModel; null: the file is neither
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
  std::shared_ptr<RunWatch> watch;                // outlives the session
  std::shared_ptr<CheckpointAccess> checkpoints;  // likewise
  std::shared_ptr<Session> session;
  std::shared_ptr<StepsInFlight> in_flight;  // null: steps follow each other
};

}  // namespace emplace
