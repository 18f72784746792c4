// Part of core/pipeline.h: the stages plan and execute, and what a plan predicts for `place`.
#include <algorithm>
#include <chrono>

#include "core/base/cat.h"
#include "core/base/heap_limit.h"
#include "core/base/stop.h"
#include "core/cluster/cluster.h"
#include "core/formats/checkpoint/graph_checkpoints.h"
#include "core/pipeline.h"
#include "core/pipeline_stage.h"
#include "core/predict_left_out.h"
#include "core/report/missing_value.h"
#include "core/run/thread_pool.h"
#include "core/run_watch.h"
#include "core/steps_in_flight.h"
#include "core/train/bundle_checkpoint.h"
#include "core/train/checkpoint.h"
#include "core/train/checkpoint_tables.h"

namespace emplace {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

SessionOptions session_options(const StageContext& c, const RunRequest& request, Steps steps) {
  constexpr int64_t kStepsOfTraining = 1000;
  const RunOptions& o = c.options.run;
  const bool train = steps == Steps::kOfTraining;
  const bool own_step = !train && o.in_flight == 1;
  SessionOptions session;
  for (const Fetch& fetch : request.fetches) {
    if (own_step) session.fetches.push_back(fetch.tensor);
  }
  if (own_step) session.targets = request.targets;
  session.feeds = request.feeds;
  session.inter_op_threads = static_cast<int>(o.inter_op_threads);
  session.intra_op_threads = static_cast<int>(o.intra_op_threads);
  session.seed = static_cast<uint64_t>(o.seed != 0 || !o.deterministic ? o.seed : 1);
  session.timeout_s = o.timeout_s;
  session.stop = train ? nullptr : c.stop;  // the loop of a training finishes its step
  session.gpu = {o.gpu_exec,
                 o.deterministic,
                 o.tf32,
                 o.sync_every_node,
                 gpu_log(c.log),
                 o.gpu_fuse,
                 train ? kStepsOfTraining : o.warmup + o.steps};
  return session;
}

/// The file as it was read, with its saver, which no step needs.
const GraphFile& read_file(const Planned& planned) {
  return planned.lowering ? *planned.lowering->loaded : *planned.file;
}

/// The threads of a step, for what is done before it.
PoolParallel threads_of(const RunOptions& o) {
  PoolParallel parallel;
  parallel.configure(o.intra_op_threads > 0 ? static_cast<int>(o.intra_op_threads) : ThreadPool::shared().size(),
                     nullptr);
  return parallel;
}

/// --restore: the variables and tables of a checkpoint, which may hold more than this graph has, and may lack those
/// that the step does not touch (counts of a metric, which TensorFlow does not save).
Status restore(const StageContext& c, const Planned& planned, const RunRequest& request) {
  PoolParallel parallel = threads_of(c.options.run);
  Result<Checkpoint> checkpoint =
      load_checkpoint(c.options.run.restore, &read_file(planned), &planned.file->graph, &parallel);
  if (!checkpoint.ok()) {
    const bool damaged = checkpoint.status().code() == Code::kDataLoss;
    return checkpoint.status().with_context("--restore").blamed(damaged ? Blame::kData : Blame::kUsage);
  }
  const Graph& g = planned.file->graph;
  const std::vector<char> needed = needed_nodes(g, request);
  RETURN_IF_ERROR(
      apply_checkpoint(*checkpoint, g, *planned.session, {}, Fit::kCovers, &needed).with_context("--restore"));
  Result<std::string> warning = apply_tables(checkpoint->variables, g, *planned.session, needed);
  if (!warning.ok()) return warning.status().with_context("--restore");
  if (!warning->empty()) c.log.warning(*warning);
  return ok_status();
}

Status timed_out_after(int64_t steps) {
  if (const Status stopped = stop_status(); stopped.code() == Code::kDeadlineExceeded)
    return {stopped.code(), cat(stopped.message(), " and ", steps, " steps")};
  return ok_status();
}

Status run_steps_in_flight(StageContext& c, const Planned& planned, const StepListener& on_step,
                           std::vector<Tensor>& outputs) {
  const RunOptions& o = c.options.run;
  const int64_t end = o.warmup + o.steps;
  planned.watch->begin_numbered_steps();
  std::chrono::steady_clock::time_point start;
  const auto done = [&](int64_t step, double us, std::vector<Tensor>& made) {
    if (step == 0) c.timings.first_step_us = us;
    if (step < o.warmup) return ok_status();
    c.timings.step_us.push_back(us);
    if (on_step) RETURN_IF_ERROR(on_step(step - o.warmup, made));
    if (step + 1 == end) outputs = made;
    return step + 1 == end || !stop_requested() ? ok_status() : timed_out_after(step + 1 - o.warmup);
  };
  RETURN_IF_ERROR(planned.in_flight->run(0, o.warmup, done));
  start = std::chrono::steady_clock::now();
  RETURN_IF_ERROR(planned.in_flight->run(o.warmup, end, done));
  c.timings.us_per_step = seconds_since(start) * 1e6 / static_cast<double>(o.steps);
  return ok_status();
}

Status run_steps(StageContext& c, const Planned& planned, const RunRequest& request, const StepListener& on_step,
                 std::vector<Tensor>& outputs) {
  const RunOptions& o = c.options.run;
  RETURN_IF_ERROR(start_state(c, planned, request));
  c.timings.step_us.reserve(static_cast<size_t>(std::min<int64_t>(o.steps, 1 << 20)));
  if (planned.in_flight) return run_steps_in_flight(c, planned, on_step, outputs);
  for (int64_t i = 0; i < o.warmup + o.steps; ++i) {
    planned.watch->begin_step(i);
    const auto start = std::chrono::steady_clock::now();
    RETURN_IF_ERROR(planned.session->step(outputs));
    const double us = seconds_since(start) * 1e6;
    if (i == 0) c.timings.first_step_us = us;
    if (i < o.warmup) continue;
    c.timings.step_us.push_back(us);
    if (on_step) RETURN_IF_ERROR(on_step(i - o.warmup, outputs));
    if (i + 1 < o.warmup + o.steps && stop_requested()) RETURN_IF_ERROR(timed_out_after(i + 1 - o.warmup));
  }
  return ok_status();
}

/// `planned` gets the steps of --in-flight.
Status plan_in_flight(const RunOptions& o, const RunRequest& request, Planned& planned) {
  if (planned.watch->observer())
    return invalid_argument(
               "--in-flight: --check-numerics, --log-style eager and traces of GPUs look at one node at a time")
        .blamed(Blame::kUsage);
  RETURN_IF_ERROR(check_steps_apart(planned.file->graph, request).blamed(Blame::kPlacement));
  StepRequest step;
  for (const Fetch& fetch : request.fetches) step.fetches.push_back(fetch.tensor);
  step.targets = request.targets;
  planned.in_flight = std::make_shared<StepsInFlight>(*planned.session, step, static_cast<int>(o.in_flight));
  return planned.in_flight->plan();
}

}  // namespace

Status told_of_step(StageContext& c, const Status& status, const Placed& placed) {
  if (status.ok()) return status;
  std::string missing =
      c.found.source ? missing_value_text(placed.file->graph, *c.found.source, status) : std::string();
  if (!missing.empty()) c.found.offenders.push_back(std::move(missing));
  if (status.node().empty() || !placed.lowering) return status;
  const NodeId node = placed.file->graph.find(status.node());
  const std::string origin = node == kNoNode ? std::string() : placed.lowering->origins.text(node);
  if (origin.empty()) return status;
  return Status(status.code(), cat(status.message(), "\n\t ", origin)).blamed(status.blame()).at_node(status.node());
}

Status restore_model(const StageContext& c, const Planned& planned, const RunRequest& request, Steps steps) {
  if (!c.model || c.model->meta.folder.empty()) return ok_status();
  const Graph& g = planned.file->graph;
  const std::vector<char> needed = needed_nodes(g, request);
  std::vector<Endpoint> fetches;
  for (const Fetch& fetch : request.fetches) fetches.push_back(fetch.tensor);
  std::vector<ReadAs> readers = variable_readers(g, needed, fetches);
  if (steps == Steps::kOfTraining || planned.watch->observer())  // others than the nodes look at values, too
    std::replace(readers.begin(), readers.end(), ReadAs::kLoose, ReadAs::kAligned);
  PoolParallel parallel = threads_of(c.options.run);
  return restore_saved_model(cat(c.model->meta.folder, "/variables/variables"), read_file(planned), g, needed, readers,
                             *planned.session, parallel)
      .blamed(Blame::kFile);
}

Status start_state(const StageContext& c, const Planned& planned, const RunRequest& request) {
  const HeapLimit no_limit = HeapLimit::none();  // kernels run, on several threads
  RETURN_IF_ERROR(restore_model(c, planned, request, Steps::kOfRun));
  if (!request.init.empty()) RETURN_IF_ERROR(planned.session->run_nodes(request.init));
  return c.options.run.restore.empty() ? ok_status() : restore(c, planned, request);
}

Result<Planned> plan_run(StageContext& c, const Partitioned& partitioned, const RunRequest& request, Steps steps) {
  const auto body = [&]() -> Result<Planned> {
    Planned planned{partitioned, std::make_shared<RunWatch>(c, partitioned),
                    std::make_shared<GraphCheckpoints>(graph_folders(*c.found.source, c.options.load)), nullptr,
                    nullptr};
    RETURN_IF_ERROR(planned.watch->open_files());
    SessionOptions options = session_options(c, request, steps);
    options.observer = planned.watch->observer();
    options.trace = planned.watch->launch_trace() ? planned.watch->launch_trace() : c.launches;
    options.checkpoints = planned.checkpoints.get();
    const GraphFile& file = *planned.file;
    const DeviceSet& devices = *planned.devices;
    ASSIGN_OR_RETURN(planned.session, c.cluster ? c.cluster->create_session(file, devices, *planned.placement, options)
                                                : Session::create(file, devices, *planned.placement, options));
    if (steps == Steps::kOfRun && c.options.run.in_flight > 1)
      RETURN_IF_ERROR(plan_in_flight(c.options.run, request, planned));
    return planned;
  };
  return run_stage(c, Stage::kPlan, Blame::kNone, body, dump_made);
}

Status execute(StageContext& c, const Planned& planned, const RunRequest& request, std::vector<Tensor>& outputs,
               const StepListener& on_step) {
  const auto body = [&]() -> Result<Planned> {
    const Status ran = planned.watch->end_steps(run_steps(c, planned, request, on_step, outputs));
    RETURN_IF_ERROR(told_of_step(c, ran, planned));
    return planned;
  };
  return run_stage(c, Stage::kExecute, Blame::kNone, body, dump_made).take_status();
}

namespace {

/// A step before anybody runs it.
struct ForeseenStep {
  StepRequest request;
  std::vector<Tensor> feeds;
  const GraphFile* file = nullptr;
  const Placement* placement = nullptr;
};

/// Nothing: the graph cannot be planned. An error is that of a flag which names what to run.
Result<std::optional<ForeseenStep>> foresee_step(const StageContext& c, const Placed& placed) {
  using Foreseen = std::optional<ForeseenStep>;
  const RunOptions& o = c.options.run;
  if (placed.lowering && !placed.step) return Foreseen();
  Problems only_of_a_run;
  Result<RunRequest> request =
      placed.step ? placed.step->request : resolve_request(*placed.file, o, placed.gradients, only_of_a_run);
  const bool asked = !o.fetch.empty() || !o.target.empty() || !o.feed.empty();
  if (!request.ok() && asked) return request.take_status();
  if (!request.ok()) return Foreseen();
  ForeseenStep step;
  for (const Fetch& fetch : request->fetches) step.request.fetches.push_back(fetch.tensor);
  step.request.targets = request->targets;
  for (auto& [tensor, value] : request->feeds) {
    step.request.feeds.push_back(tensor);
    step.feeds.push_back(std::move(value));
  }
  step.file = placed.step ? placed.step->file.get() : placed.file.get();
  step.placement = placed.step ? &placed.step->placement : placed.placement.get();
  return Foreseen(std::move(step));
}

}  // namespace

Result<std::vector<PlannedMemory>> predict_memory(const StageContext& c, const Placed& placed) {
  ASSIGN_OR_RETURN(const std::optional<ForeseenStep> step, foresee_step(c, placed));
  if (!step) return std::vector<PlannedMemory>{};
  auto memory = planned_memory(*step->file, *placed.devices, *step->placement, step->request, step->feeds);
  return memory.ok() ? memory.take() : std::vector<PlannedMemory>{};
}

Result<std::vector<LeftOut>> predict_left_out(const StageContext& c, const Placed& placed) {
  ASSIGN_OR_RETURN(const std::optional<ForeseenStep> step, foresee_step(c, placed));
  std::vector<LeftOut> out;
  if (!step) return out;
  auto found = left_out_nodes(*step->file, *placed.devices, *step->placement, step->request, step->feeds);
  if (!found.ok()) return out;
  const Graph &of_step = step->file->graph, &graph = placed.file->graph;
  const auto placed_node = [&](NodeId node) {
    return node == kNoNode || &of_step == &graph ? node : graph.find(of_step.name(node));
  };
  for (const LeftOut& l : *found) {
    if (const NodeId node = placed_node(l.node); node != kNoNode) out.push_back({node, placed_node(l.undoes)});
  }
  std::sort(out.begin(), out.end(), [](const LeftOut& a, const LeftOut& b) { return a.node < b.node; });
  return out;
}

}  // namespace emplace
