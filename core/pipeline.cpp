#include "core/pipeline.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "core/base/cat.h"
#include "core/base/file_error.h"
#include "core/base/heap.h"
#include "core/base/text_file.h"
#include "core/base/units.h"
#include "core/formats/sound_part.h"
#include "core/place/isolate_calls.h"
#include "core/report/placement_log.h"
#include "core/report/trace_report.h"
#include "core/train/checkpoint.h"

namespace emplace {
namespace {

// What the stages make of a file: about 20 bytes for each of its own.
constexpr size_t kLargeFile = 256 << 10, kHeapPerByte = 20, kMostHeap = size_t{1} << 30;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

const char* environment(const char* name) { return std::getenv(name); }

}  // namespace

int exit_code(Stage stage, const Status& status) {
  if (status.ok()) return 0;
  switch (status.code()) {
    case Code::kResourceExhausted:
      return stage < Stage::kPlace ? 3 : 6;
    case Code::kUnavailable:
      return 5;
    case Code::kDeadlineExceeded:
      return 8;
    default:
      break;
  }
  if (stage <= Stage::kValidate) return 3;
  if (stage <= Stage::kPartition) return 4;
  return status.code() == Code::kUnimplemented ? 3 : 1;
}

int Pipeline::exit_code(const Status& status) const {
  if (status.ok()) return 0;
  if (usage_error_) return 2;
  if (write_failed_) return 1;
  if (numerics_ && numerics_->nodes_found() > 0 && status.code() == Code::kFailedPrecondition) return 7;
  return emplace::exit_code(stage_, status);
}

Status Pipeline::run(Stage last) {
  last_ = last;
  struct Row {
    Stage stage;
    Status (Pipeline::*run)();
  };
  static constexpr Row kRows[] = {
      {Stage::kLoad, &Pipeline::load_file},    {Stage::kValidate, &Pipeline::validate_file},
      {Stage::kPlace, &Pipeline::place_nodes}, {Stage::kPartition, &Pipeline::find_copies},
      {Stage::kPlan, &Pipeline::plan_run},     {Stage::kExecute, &Pipeline::execute},
  };
  for (const Row& row : kRows) {
    stage_ = row.stage;
    auto start = std::chrono::steady_clock::now();
    Status status = (this->*row.run)();
    count_time(seconds_since(start));
    RETURN_IF_ERROR(std::move(status));
    if (options_.dump == stage_) log_.info(dump_text(*this));
    if (stage_ == last) break;
  }
  return ok_status();
}

void Pipeline::count_time(double seconds) {
  if (log_.shows(LogLevel::kDebug)) log_.debug(cat(stage_name(stage_), ": ", time_text(seconds)));
  switch (stage_) {
    case Stage::kLoad:
    case Stage::kValidate:
      timings_.load_ms += seconds * 1e3;
      break;
    case Stage::kPlace:
      timings_.place_ms += seconds * 1e3;
      break;
    case Stage::kPartition:
    case Stage::kPlan:
      timings_.plan_ms += seconds * 1e3;
      break;
    case Stage::kExecute:
      break;  // counted step by step
  }
}

/// The first problem, for where one status has to do; problems() has them all.
Status Pipeline::first_problem() const {
  if (problems_.empty()) return ok_status();
  const Problem& first = problems_.list().front();
  return {first.code, first.message};
}

Status Pipeline::load_file() {
  Result<std::shared_ptr<const Source>> opened = Source::open(path_);
  if (!opened.ok()) {
    std::string near = opened.status().code() == Code::kNotFound ? near_file(path_) : std::string();
    return near.empty() ? opened.take_status() : not_found(cat(opened.status().message(), "; ", near));
  }
  source_ = opened.take();
  if (const size_t size = source_->text().size(); size >= kLargeFile)
    reserve_heap(std::min(size * kHeapPerByte, kMostHeap));
  file_ = load(source_, options_.load, problems_);
  if (on_checked && !problems_.empty()) {
    const std::unique_ptr<GraphFile> rest = check_sound_part(*file_, options_.load, problems_);
    if (rest) check_request_names(*rest, &file_->graph, problems_);
    if (check_ops) check_all_runnable(*file_, rest ? &rest->graph : nullptr, problems_);
    static_cast<void>(on_checked(*file_, problems_));
  }
  return first_problem();
}

Status Pipeline::validate_file() {
  const Status checked = check_file();
  if (check_ops) check_all_runnable(*file_, &file_->graph, problems_);
  RETURN_IF_ERROR(first_problem());
  if (!checked.ok() || !must_run) return checked;
  if (on_validated) {
    RETURN_IF_ERROR(on_validated(*file_, problems_, request_));
    RETURN_IF_ERROR(first_problem());
  } else {
    Result<RunRequest> request = resolve_request(*file_, options_.run, gradients_);
    if (!request.ok()) return usage_error(request.take_status());
    request_ = request.take();
  }
  check_runnable(*file_, request_, problems_);
  return first_problem();
}

/// Types, shapes and names: what is wrong is in problems_; an error is one of something beside the file.
Status Pipeline::check_file() {
  // What TensorFlow notices only in a run keeps nobody from planning.
  Problems misfits;
  Problems* const contradictions = must_run || last_ == Stage::kValidate ? nullptr : &misfits;
  validate(*file_, problems_, contradictions);
  if (!problems_.empty()) check_request_names(*file_, &file_->graph, problems_);
  Status checked = on_checked ? on_checked(*file_, problems_) : ok_status();
  if (!must_run && last_ != Stage::kValidate && file_->graph.num_nodes() == 0) {
    problems_.add(kNoPosition, "the graph has no node, so there is nothing to place");
  }
  if (!problems_.empty() || !checked.ok()) return checked;
  if (!file_->warnings.empty()) log_.warning(file_->warnings.to_string(*source_));
  if (!misfits.empty()) log_.warning(misfits.to_string(*source_));
  for (const std::string& name : apply_file_config(file_->config, options_)) {
    if (log_.shows(LogLevel::kDebug)) log_.debug(cat("option --", name, ": config of ", source_->name()));
  }
  check_request_names(*file_, nullptr, problems_);
  if (!problems_.empty()) return ok_status();
  gradients_ = add_fetched_gradients(*file_, fetch_names(*file_, options_.run), options_.run.colocate_gradients,
                                     problems_, contradictions);
  return ok_status();
}

Status Pipeline::place_nodes() {
  const PlacingOptions& o = options_.placing;
  Result<DeviceSet> devices = find_devices(options_.devices, log_);
  if (!devices.ok()) {
    return devices.status().code() == Code::kUnavailable ? devices.take_status() : usage_error(devices.take_status());
  }
  devices_ = devices.take();
  if (must_run && !devices_.runnable) {
    return usage_error(
        invalid_argument("described devices can be planned for, not run on; use --simulate-gpus to run"));
  }

  place_options_.allow_soft_placement = o.allow_soft_placement;
  place_options_.log_device_placement = !o.log_device_placement.empty();
  place_options_.available_kernels_only = o.available_kernels_only;
  // What the run needs has kernels (validate saw to it): what else the graph holds need not stop it.
  if (must_run && !nodes_without_available_kernel(*file_).empty()) place_options_.available_kernels_only = false;
  isolate_calls(*file_->ops, file_->graph);
  std::vector<std::string> warnings;
  if (Status status = resolve_requests(file_->graph, o.rules, place_options_, warnings); !status.ok())
    return usage_error(std::move(status));
  for (const std::string& warning : warnings) log_.warning(warning);
  if (!o.placement_in.empty()) {
    Result<std::vector<std::pair<NodeId, std::string>>> saved = read_placement(file_->graph, o.placement_in);
    if (!saved.ok()) return usage_error(saved.take_status());
    place_options_.assigned = saved.take();
  }
  RETURN_IF_ERROR(log_placement(device_mapping(devices_)));
  Placement before_failure;
  Result<Placement> placement = place(*file_, devices_, place_options_, offenders_, &before_failure);
  if (placement.ok()) {
    placement_ = placement.take();
  } else if (!place_options_.allow_soft_placement) {
    PlaceOptions soft = place_options_;
    soft.allow_soft_placement = true;
    std::vector<std::string> none;
    soft_placement_helps_ = place(*file_, devices_, soft, none, nullptr).ok();
  }
  const Placement& made = placement_ ? *placement_ : before_failure;
  for (const auto& [severity, note] : made.notes) severity == 0 ? log_.info(note) : log_.warning(note);
  constexpr size_t kLines = 1000;  // at a time: those of a large graph are many megabytes
  for (size_t i = 0; i < made.order.size() && !o.log_device_placement.empty(); i += kLines) {
    RETURN_IF_ERROR(log_placement(placement_lines(file_->graph, devices_, made, i, kLines)));
  }
  return placement.take_status();
}

Status Pipeline::written(Status status, std::string_view option) {
  if (status.ok()) return status;
  (status.code() == Code::kInvalidArgument ? usage_error_ : write_failed_) = true;
  return status.with_context(option);
}

/// The session's lines, unless ops will start and the eager ones take their place.
Status Pipeline::log_placement(const std::string& text) {
  bool wanted =
      !options_.placing.log_device_placement.empty() && !(options_.placing.log_eagerly && last_ > Stage::kPartition);
  return wanted ? write_log_lines(text) : ok_status();
}

/// Sends text to where --log-device-placement says.
Status Pipeline::write_log_lines(const std::string& text) {
  const std::string& to = options_.placing.log_device_placement;
  if (to.empty() || to == "stderr" || to == "stdout") {
    std::fputs(text.c_str(), to == "stdout" ? stdout : stderr);
    return ok_status();
  }
  return written(write_text_file(to, text, true), "--log-device-placement");
}

Status Pipeline::find_copies() {
  copies_ = plan_copies(*file_, devices_, *placement_);
  const PlacingOptions& o = options_.placing;
  Status gates = check_gates(*file_, devices_, place_options_, *placement_, copies_->num_across(), o.gates);
  if (gates.code() == Code::kInvalidArgument) return usage_error(std::move(gates));
  RETURN_IF_ERROR(std::move(gates));
  if (o.placement_out.empty()) return ok_status();
  return written(write_text_file(o.placement_out, save_placement(file_->graph, devices_, *placement_)),
                 "--placement-out");
}

Result<std::vector<PlannedMemory>> Pipeline::planned_memory() {
  const RunOptions& o = options_.run;
  Result<RunRequest> request = resolve_request(*file_, o, gradients_);
  const bool asked = !o.fetch.empty() || !o.target.empty() || !o.feed.empty();
  if (!request.ok() && asked) return usage_error(request.take_status());
  if (!request.ok()) return std::vector<PlannedMemory>{};
  Request step;
  std::vector<Tensor> values;
  for (const Fetch& fetch : request->fetches) step.fetches.push_back(fetch.tensor);
  step.targets = request->targets;
  for (auto& [tensor, value] : request->feeds) {
    step.feeds.push_back(tensor);
    values.push_back(std::move(value));
  }
  auto memory = emplace::planned_memory(*file_, devices_, *placement_, std::move(step), values);
  return memory.ok() ? memory.take() : std::vector<PlannedMemory>{};
}

/// Null if nobody watches the run.
StepObserver* Pipeline::make_observer() {
  const Graph& g = file_->graph;
  if (options_.placing.log_eagerly) {
    eager_log_ = std::make_unique<EagerLog>(
        g, devices_, [this](const std::string& line) { static_cast<void>(write_log_lines(line + "\n")); });
    observers_.add(eager_log_.get());
  }
  if (const NumericsAction action = options_.run.check_numerics; action != NumericsAction::kNone) {
    numerics_ = std::make_unique<NumericsCheck>(g, devices_, action == NumericsAction::kStop,
                                                [this](const std::string& text) { log_.error(text); });
    observers_.add(numerics_.get());
  }
  if (!options_.run.trace.empty()) {
    trace_ = std::make_unique<TraceRecorder>();
    observers_.add(trace_.get());
  }
  return observers_.empty() ? nullptr : &observers_;
}

/// What --check-numerics=report found by the end of the run.
Status Pipeline::numerics_status() const {
  if (!numerics_ || numerics_->nodes_found() == 0) return ok_status();
  return failed_precondition(cat(numerics_->nodes_found(), " nodes have outputs with NaN or infinite elements"));
}

Status Pipeline::plan_run() {
  const RunOptions& o = options_.run;
  SessionOptions session;
  if (!on_validated) {
    for (const Fetch& fetch : request_.fetches) session.fetches.push_back(fetch.tensor);
    session.targets = request_.targets;
  }
  session.feeds = request_.feeds;
  session.inter_op_threads = static_cast<int>(o.inter_op_threads);
  session.intra_op_threads = static_cast<int>(o.intra_op_threads);
  session.seed = static_cast<uint64_t>(o.seed != 0 || !o.deterministic ? o.seed : 1);
  session.timeout_s = o.timeout_s;
  session.stop = stop;
  session.observer = make_observer();
  constexpr int64_t kStepsOfTraining = 1000;
  session.gpu = {o.gpu_exec,
                 o.deterministic,
                 o.tf32,
                 o.sync_every_node,
                 log_.shows(LogLevel::kDebug),
                 o.gpu_fuse,
                 on_validated ? kStepsOfTraining : o.warmup + o.steps};
  ASSIGN_OR_RETURN(session_, Session::create(*file_, devices_, *placement_, std::move(session)));
  return ok_status();
}

/// --restore: the variables of a checkpoint, which may hold more than this graph has.
Status Pipeline::restore() {
  Result<Checkpoint> checkpoint = load_checkpoint(options_.run.restore);
  if (!checkpoint.ok()) return usage_error(checkpoint.status().with_context("--restore"));
  return apply_checkpoint(*checkpoint, file_->graph, *session_, {}, Fit::kCovers).with_context("--restore");
}

Status Pipeline::execute() { return end_steps(run_steps()); }

void Pipeline::begin_step(int64_t step) {
  if (trace_) trace_->begin_step(step);
}

/// A trace is written of a run that failed, too.
Status Pipeline::end_steps(Status ran) {
  if (ran.ok()) ran = numerics_status();
  if (!trace_) return ran;
  Status saved = write_text_file(options_.run.trace, trace_json(file_->graph, devices_, *trace_));
  return ran.ok() ? written(std::move(saved), "--trace") : ran;
}

Status Pipeline::run_steps() {
  const RunOptions& o = options_.run;
  auto begin = std::chrono::steady_clock::now();
  if (!request_.init.empty()) RETURN_IF_ERROR(session_->run_nodes(request_.init));
  if (!o.restore.empty()) RETURN_IF_ERROR(restore());
  timings_.step_us.reserve(static_cast<size_t>(std::min<int64_t>(o.steps, 1 << 20)));
  for (int64_t i = 0; i < o.warmup + o.steps; ++i) {
    begin_step(i);
    auto start = std::chrono::steady_clock::now();
    RETURN_IF_ERROR(session_->step(outputs_));
    double us = seconds_since(start) * 1e6;
    if (i == 0) timings_.first_step_us = us;
    if (i < o.warmup) continue;
    timings_.step_us.push_back(us);
    if (on_step) RETURN_IF_ERROR(on_step(i - o.warmup, outputs_));
    if (o.timeout_s > 0 && i + 1 < o.warmup + o.steps && seconds_since(begin) > o.timeout_s) {
      return {Code::kDeadlineExceeded, cat("timed out after ", o.timeout_s, " s and ", i + 1 - o.warmup, " steps")};
    }
  }
  return ok_status();
}

Result<DeviceSet> find_devices(const DeviceOptions& options, Log& log) {
  std::vector<std::string> warnings;
  Result<DeviceSet> devices = make_device_set(options, environment, warnings);
  for (const std::string& warning : warnings) log.warning(warning);
  if (devices.ok() && !devices->growth_error.empty()) log.error(devices->growth_error);
  return devices;
}

}  // namespace emplace
