// emplace train: a graph, its data, steps. Results go to standard output, progress to standard error.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "cli/command.h"
#include "cli/kernel_difference.h"
#include "cli/outputs.h"
#include "cli/signals.h"
#include "cli/train_options.h"
#include "cli/train_printer.h"
#include "core/base/cat.h"
#include "core/base/sha256.h"
#include "core/base/text_file.h"
#include "core/formats/graph_writer.h"
#include "core/graph/lookup.h"
#include "core/report/placement_log.h"
#include "core/train/train_reports.h"

namespace emplace {
namespace {

/// Columns of the terminal that standard error is; 0: it is none.
int terminal_columns(Log& log) {
  winsize size{};
  if (!log.shows(LogLevel::kInfo) || !isatty(STDERR_FILENO) || ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col > 0 ? size.ws_col : 80;
}

/// Numbers the steps of a trace, and ends a training that takes longer than --timeout.
class StepWatch final : public TrainListener {
 public:
  StepWatch(Pipeline& pipeline, double timeout_s) : pipeline_(pipeline), timeout_s_(timeout_s) {}
  Status step(const StepRecord& record) override {
    pipeline_.begin_step(record.step + 1);
    if (timeout_s_ == 0 || std::chrono::steady_clock::now() - start_ < std::chrono::duration<double>(timeout_s_))
      return ok_status();
    return {Code::kDeadlineExceeded, cat("timed out after ", timeout_s_, " s and ", record.step, " steps")};
  }

 private:
  Pipeline& pipeline_;
  const double timeout_s_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

class Training {
 public:
  Training(const Options& options, const TrainOptions& train, Log& log)
      : options_(options),
        train_options_(train),
        log_(log),
        pipeline_(options.pipeline, options.arguments.front(), log),
        printer_(options.format, pipeline_) {}

  int run() {
    pipeline_.must_run = true;
    pipeline_.on_validated = [this](GraphFile& file, Problems& problems, RunRequest& request) {
      return set_up(file, problems, request);
    };
    printer_.begin();
    const bool dry = train_options_.dry_run;
    Status status = pipeline_.run(dry ? Stage::kPartition : Stage::kPlan);
    int code = status.ok() ? 0 : report(status);
    if (status.ok() && dry)
      log_.info(placement_summary(pipeline_.devices(), *pipeline_.placement(), *pipeline_.copies()));
    if (status.ok() && !dry) {
      status = train();
      code = status.ok() ? 0 : report_training(status);
      if (status.ok()) {
        status = use_outputs(options_.outputs, fetches_, result_.outputs, code);
        if (!status.ok()) log_.error(status.message());
      }
    }
    printer_.end(status, code, metric_names(), fetches_, result_);
    return code;
  }

 private:
  Status usage_error(Status status) { return usage_error_ = true, status; }

  /// Reads keys and flags, looks up names, reads the data.
  Status set_up(GraphFile& file, Problems& problems, RunRequest& request) {
    TrainFlags flags = train_options_.flags;
    flags.target = options_.pipeline.run.target;
    const auto& given = options_.pipeline.given;
    if (given.contains("steps")) flags.steps = options_.pipeline.run.steps;
    if (given.contains("seed")) flags.seed = options_.pipeline.run.seed;
    read_train_keys(file, options_.pipeline.load, request_, data_request_, problems);
    if (!problems.empty()) return ok_status();
    if (Status status = apply_train_flags(flags, request_, data_request_); !status.ok())
      return usage_error(std::move(status));
    check_train_request(file, request_, problems);
    if (!problems.empty()) return ok_status();
    RETURN_IF_ERROR(find_replicas(file.graph));
    add_training(file, request_, graph_, problems);
    if (!problems.empty()) return ok_status();
    RETURN_IF_ERROR(write_graph_out(file));
    if (train_options_.dry_run) return request.targets = graph_.targets, ok_status();
    RETURN_IF_ERROR(read_data(file, problems));
    if (!problems.empty()) return ok_status();
    return make_request(file, request);
  }

  Status find_replicas(const Graph& graph) {
    request_.colocate_gradients = options_.pipeline.run.colocate_gradients;
    request_.replication = train_options_.replication;
    if (Status status = check_replication(request_.replication); !status.ok()) return usage_error(std::move(status));
    if (request_.replication.strategy == Strategy::kNone) return ok_status();
    if (!request_.colocate_gradients)
      return usage_error(invalid_argument(
          "--no-colocate-gradients: the gradients of a replica belong on its device; leave out --strategy"));
    const RunOptions& run = options_.pipeline.run;
    const bool watched =
        run.check_numerics != NumericsAction::kNone || !run.trace.empty() || options_.pipeline.placing.log_eagerly;
    if (watched && request_.replication.strategy == Strategy::kPsAsync) {
      return usage_error(
          invalid_argument("--check-numerics, --trace and --log-style eager watch one node at a time; the towers of "
                           "ps-async run beside each other"));
    }
    if (request_.optimizer.empty())
      return usage_error(invalid_argument("--strategy: the graph brings its own update; name an optimizer"));
    std::vector<std::string> warnings, notes;
    Result<DeviceSet> devices = make_device_set(
        pipeline_.options().devices, [](const char* name) -> const char* { return std::getenv(name); }, warnings);
    if (!devices.ok()) return usage_error(devices.take_status());
    const bool soft = pipeline_.options().placing.allow_soft_placement;
    if (Status status = resolve_replication(*devices, soft, request_.replication, notes); !status.ok())
      return usage_error(std::move(status));
    avoid_collectives(graph, request_.replication, notes);
    for (const std::string& note : notes) log_.warning(note);
    return ok_status();
  }

  Status write_graph_out(const GraphFile& file) {
    const std::string& path = train_options_.graph_out;
    if (path.empty()) return ok_status();
    Status written = write_text_file(path, write_graph(file));
    usage_error_ = written.code() == Code::kInvalidArgument;
    write_failed_ = !written.ok() && !usage_error_;
    return written.with_context("--graph-out");
  }

  /// The loss as the graph file has it: that of a step may be a mean over towers.
  Endpoint forward_loss(const GraphFile& file) const {
    NameError error;
    return find_tensor(file.graph, request_.loss.name, error);
  }

  Status read_data(const GraphFile& file, Problems& problems) {
    DataProblems found;
    if (data_request_.train) train_ = Dataset::read(file, *data_request_.train, "train", found);
    if (data_request_.test) test_ = Dataset::read(file, *data_request_.test, "test", found);
    for (const Dataset* data : {train_.get(), test_.get()}) {
      if (data) data->check_labels(file, forward_loss(file), found);
      if (data) check_batch(*data, data == train_.get(), found);
    }
    for (const Problem& p : found.graph.list()) problems.add(p.position, p.message, p.hint, p.code);
    if (found.files.empty()) return ok_status();
    while (found.files.ends_with('\n')) found.files.pop_back();
    data_problem_ = true;
    return invalid_argument(std::move(found.files));
  }

  void check_batch(const Dataset& data, bool train, DataProblems& found) {
    int64_t batch = request_.batch > 0 ? std::min(request_.batch, data.rows()) : data.rows(),
            fixed = data.fixed_batch();
    if (train && request_.drop_remainder && request_.batch > data.rows()) {
      found.graph.add(kNoPosition, cat("a batch of ", request_.batch, " without remainder of ", data.rows(),
                                       " samples: no step is left"));
    }
    bool rest = data.rows() % batch != 0 && !(train && request_.drop_remainder);
    if (fixed == 0 || (batch == fixed && !rest)) return;
    found.graph.add(kNoPosition,
                    cat("a placeholder takes batches of ", fixed, " samples only; found batches of ", batch,
                        rest ? cat(" and a rest of ", data.rows() % batch) : ""),
                    rest && train ? "\"drop_remainder\": true leaves the rest out" : "");
  }

  Status make_request(const GraphFile& file, RunRequest& request) {
    request.fetches.push_back({request_.loss.name, graph_.loss});
    for (const auto& [name, tensor] : graph_.metrics) request.fetches.push_back({name, tensor});
    RETURN_IF_ERROR(find_fetches(file));
    request.fetches.insert(request.fetches.end(), fetches_.begin(), fetches_.end());
    request.targets = graph_.targets;
    request.init = initializers(file);
    for (NodeId id : graph_.init) {
      if (std::find(request.init.begin(), request.init.end(), id) == request.init.end()) request.init.push_back(id);
    }
    if (Status status = resolve_feeds(file, options_.pipeline.run, request); !status.ok())
      return usage_error(std::move(status));
    if (train_) request.fed_anew = train_->placeholders();
    std::erase_if(request.feeds, [&](const auto& feed) {
      return std::find(request.fed_anew.begin(), request.fed_anew.end(), feed.first) != request.fed_anew.end();
    });
    if (!train_ && request_.steps == 0)
      return usage_error(
          invalid_argument("no data: give --steps N, or say in the graph file what to train on (\"data\")"));
    RETURN_IF_ERROR(open_checkpoints());
    pipeline_.set_seed(request_.seed == 0 ? 1 : request_.seed);
    return ok_status();
  }

  /// --fetch, in the graph that trains.
  Status find_fetches(const GraphFile& file) {
    const bool wanted = !options_.pipeline.run.fetch.empty();
    if (wanted && !graph_.towers.empty())
      return usage_error(invalid_argument("--fetch: the towers of ps-async have no last step in common"));
    if (!wanted && !(options_.outputs.save.empty() && options_.outputs.expect.empty()))
      return usage_error(invalid_argument("--save and --expect are about fetched tensors: give --fetch NAME, too"));
    if (!wanted) return ok_status();
    Result<std::vector<Fetch>> found = resolve_fetches(file, fetch_names(file, options_.pipeline.run), {});
    if (!found.ok()) return usage_error(found.take_status());
    fetches_ = found.take();
    return ok_status();
  }

  Status open_checkpoints() {
    const TrainOptions& o = train_options_;
    const std::string& restore = options_.pipeline.run.restore;
    if (o.checkpoint.empty() && (o.save_every_steps > 0 || o.save_every_s > 0))
      return usage_error(invalid_argument("--save-every: give --checkpoint DIR, too"));
    if (!o.checkpoint.empty()) {
      Result<CheckpointFolder> folder = CheckpointFolder::open(o.checkpoint, o.keep);
      if (!folder.ok()) return usage_error(folder.status().with_context("--checkpoint"));
      folder_ = folder.take();
    }
    if (restore.empty()) return ok_status();
    if (restore == "latest") {
      if (!folder_) return usage_error(invalid_argument("--restore latest: give --checkpoint DIR, too"));
      std::vector<std::string> damaged;
      restored_ = folder_->newest(damaged);
      for (const std::string& text : damaged) log_.warning(cat("passed over: ", text));
      if (!restored_) log_.warning(cat("no checkpoint in '", o.checkpoint, "' yet: starting from the beginning"));
    } else {
      Result<Checkpoint> checkpoint = load_checkpoint(restore);
      if (!checkpoint.ok()) return usage_error(checkpoint.status().with_context("--restore"));
      restored_ = checkpoint.take();
    }
    if (restored_ && restored_->seed != 0) {
      const auto seed = static_cast<int64_t>(restored_->seed);
      if (options_.pipeline.given.contains("seed") && request_.seed != seed) {
        log_.warning(cat("--seed ", request_.seed, " is not used: the checkpoint goes on with seed ", seed));
      }
      request_.seed = seed;
    }
    if (restored_ && !restored_->graph_sha256.empty() && restored_->graph_sha256 != sha256()) {
      log_.warning("the checkpoint was written by another version of this graph file");
    }
    return ok_status();
  }

  std::string sha256() const { return sha256_hex(pipeline_.source()->text()); }

  std::vector<std::string> metric_names() const {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : graph_.metrics) names.push_back(name);
    return names;
  }

  Status train() {
    const TrainOptions& o = train_options_;
    bool has_test = test_ && !graph_.metrics.empty();
    ProgressReport progress(
        {metric_names(), request_.epochs, request_.steps, o.log_every, terminal_columns(log_), " (test)"},
        [this](const std::string& line) { log_.info(line); }, [this](const std::string& text) { log_.warning(text); });
    CsvLog csv;
    CurveRecorder curves(metric_names(), has_test);
    ListenerList listeners;
    listeners.add(&progress);
    listeners.add(&printer_);
    StepWatch watch(pipeline_, options_.pipeline.run.timeout_s);
    listeners.add(&watch);
    if (!o.plot.empty()) listeners.add(&curves);
    if (!o.log_csv.empty()) {
      if (Status status = csv.open(o.log_csv, metric_names(), has_test); !status.ok())
        return usage_error(status.with_context("--log-csv"));
      listeners.add(&csv);
    }
    if (Status status = check_plot(); !status.ok()) return usage_error(std::move(status));
    TrainSetup setup;
    setup.file = pipeline_.file();
    setup.request = &request_;
    setup.graph = &graph_;
    setup.init = pipeline_.request().init;
    setup.train = train_.get();
    setup.test = test_.get();
    for (const Fetch& fetch : fetches_) setup.fetches.push_back(fetch.tensor);
    setup.warmup_steps = options_.pipeline.run.warmup;
    setup.folder = folder_ ? &*folder_ : nullptr;
    setup.save_every_steps = o.save_every_steps;
    setup.save_every_s = o.save_every_s;
    setup.restored = restored_ ? &*restored_ : nullptr;
    setup.graph_sha256 = sha256();
    TrainLoop loop(std::move(setup), listeners, stop_flag());
    RETURN_IF_ERROR(loop.prepare(*pipeline_.session()));
    log_.info(cat(summary_line(pipeline_),
                  train_ ? cat(" | ", train_->rows(), test_ ? cat(" + ", test_->rows()) : "", " samples") : ""));
    pipeline_.begin_step(1);
    Status status = pipeline_.end_steps(loop.run(*pipeline_.session(), result_));
    progress.clear();
    if (status.ok()) curves.end(result_);
    if (Status closed = csv.close(); status.ok()) status = std::move(closed);
    if (Status drawn = draw(curves); status.ok()) status = std::move(drawn);
    if (!result_.staleness.empty()) log_.info(staleness_text());
    if (!result_.checkpoint.empty()) log_.info(cat("saved ", result_.checkpoint));
    report_memory(options_.memory_report, pipeline_.devices(), pipeline_.session()->memory(), log_);
    return status;
  }

  std::string staleness_text() const {
    std::string out = "staleness (updates by others during a step: steps):";
    for (const auto& [updates, steps] : result_.staleness) append(out, " ", updates, ": ", steps, ",");
    out.pop_back();
    append(out, "; steps by tower:");
    for (int64_t steps : result_.tower_steps) append(out, " ", steps, ",");
    out.pop_back();
    return out;
  }

  /// Before the training, which is not to be in vain; a picture from before stays until then.
  Status check_plot() const {
    const std::string& path = train_options_.plot;
    if (path.empty() || std::ofstream(path, std::ios::binary | std::ios::app)) return ok_status();
    return invalid_argument(cat("--plot: cannot write '", path, "': ", std::strerror(errno)));
  }

  Status draw(const CurveRecorder& curves) {
    const std::string& path = train_options_.plot;
    if (path.empty()) return ok_status();
    const std::string title = cat(pipeline_.path(), request_.optimizer.empty() ? "" : cat(", ", request_.optimizer));
    return write_text_file(path, plot_svg(title, curves.curves())).with_context("--plot");
  }

  int report(const Status& status) {
    if (!usage_error_ && !write_failed_ && !data_problem_) return report_failure(pipeline_, status, log_);
    data_problem_ ? log_.problem(status.message()) : log_.error(status.message());
    return usage_error_ ? 2 : write_failed_ ? 1 : 3;
  }

  /// Of what failed after planning.
  int report_training(const Status& status) {
    if (int signal = caught_signal(); signal != 0 && status.code() == Code::kCancelled) {
      log_.error(cat(pipeline_.path(), ": stopped by ", strsignal(signal), " after ", result_.steps, " steps"));
      return 128 + signal;
    }
    log_.error(status.message());
    if (usage_error_) return 2;
    switch (status.code()) {
      case Code::kDataLoss:
        return 7;
      case Code::kUnavailable:
        return 1;  // a file cannot be written
      default:
        return pipeline_.exit_code(status);
    }
  }

  const Options& options_;
  const TrainOptions& train_options_;
  Log& log_;
  Pipeline pipeline_;
  TrainPrinter printer_;
  TrainRequest request_;
  DataRequest data_request_;
  TrainGraph graph_;
  std::vector<Fetch> fetches_;
  std::unique_ptr<Dataset> train_, test_;
  std::optional<CheckpointFolder> folder_;
  std::optional<Checkpoint> restored_;
  TrainResult result_;
  bool usage_error_ = false, data_problem_ = false, write_failed_ = false;
};

class TrainCommand final : public Command {
 public:
  void declare(OptionSet& set, Options& o) override {
    o.pipeline.placing.available_kernels_only = true;
    set.positional("GRAPH", "GRAPH '-' is standard input.", o.arguments);
    set.group("Placement");
    declare_placing(set, o.pipeline.placing);
    declare_kernels(set, o.pipeline.placing);
    set.group("Devices");
    declare_devices(set, o.pipeline.devices);
    set.group("Execution");
    declare_request(set, o.pipeline.run, Steps::kOfTraining);
    declare_memory_report(set, o);
    declare_execution(set, o.pipeline, Steps::kOfTraining);
    declare_outputs(set, o.outputs);
    set.group("Training");
    declare_train_options(set, train_);
    set.group("Files and output");
    declare_loading(set, o.pipeline);
    declare_format(set, o, std::array{Format::kText, Format::kJson, Format::kJsonl});
  }

  int run(const Options& options, Log& log) override {
    if (options.arguments.size() != 1)
      return usage(log, options.arguments.empty() ? "no graph file given" : "train takes one graph file");
    if (Status status = check_output_flags(options.outputs); !status.ok()) return usage(log, status.message());
    return Training(options, train_, log).run();
  }

 private:
  TrainOptions train_;
};

}  // namespace

std::unique_ptr<Command> make_train_command() { return std::make_unique<TrainCommand>(); }

}  // namespace emplace
