// emplace train: a graph, its data, steps. Results go to standard output, progress to standard error.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/signals.h"
#include "cli/task_group.h"
#include "cli/task_progress.h"
#include "cli/train_options.h"
#include "cli/train_printer.h"
#include "core/base/cat.h"
#include "core/base/exit_code.h"
#include "core/base/output_file.h"
#include "core/base/printable.h"
#include "core/base/stop.h"
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

std::string staleness_text(const TrainResult& result) {
  std::string out = "staleness (updates by others during a step: steps):";
  for (const auto& [updates, steps] : result.staleness) append(out, " ", updates, ": ", steps, ",");
  out.pop_back();
  append(out, "; steps by tower:");
  for (int64_t steps : result.tower_steps) append(out, " ", steps, ",");
  out.pop_back();
  return out;
}

/// The files of --log-csv and --plot, which are opened before the first step: a training is not to be in vain.
class CurveFiles final : public TrainListener {
 public:
  CurveFiles(const TrainingOptions& options, const Trainable& trainable)
      : options_(options),
        has_test_(trainable.test && !trainable.graph.metrics.empty()),
        curves_(trainable.metric_names(), has_test_) {
    if (!options.plot.empty()) listeners_.add(&curves_);
    if (!options.log_csv.empty()) listeners_.add(&csv_);
  }

  Status open(const std::vector<std::string>& metrics) {
    Status status;
    if (!options_.log_csv.empty()) status = csv_.open(options_.log_csv, metrics, has_test_).with_context("--log-csv");
    if (!status.ok() || options_.plot.empty()) return status;
    Result<OutputFile> plot = OutputFile::open(options_.plot);
    if (!plot.ok()) return plot.status().with_context("--plot");
    plot_ = plot.take();
    return ok_status();
  }

  Status step(const StepRecord& record) override { return listeners_.step(record); }
  Status epoch(const EpochRecord& record) override { return listeners_.epoch(record); }

  /// Writes what is left. `result` of a training that came to its end, else null.
  Status close(const TrainResult* result, const std::string& title) {
    if (result) curves_.end(*result);
    Status status = csv_.close();
    if (!plot_.is_open()) return status;
    Status drawn = plot_.write(plot_svg(title, curves_.curves()));
    if (drawn.ok()) drawn = plot_.commit();
    return status.ok() ? drawn.with_context("--plot") : status;
  }

 private:
  const TrainingOptions& options_;
  const bool has_test_;
  CsvLog csv_;
  CurveRecorder curves_;
  OutputFile plot_;
  ListenerList listeners_;
};

/// One training: through the stages, telling of it.
class TrainingRun {
 public:
  /// `cluster`: whose chief this is; null: this process trains alone. `flags`: what its tasks have to be told alike.
  TrainingRun(const Options& options, const TrainingOptions& train, TaskGroup* cluster, TaskFacts flags, Log& log)
      : options_(options),
        train_options_(train),
        own_options_(train),
        log_(log),
        c_(options.pipeline, options.arguments.front(), log, &stop_flag()),
        cluster_(cluster),
        flags_(std::move(flags)),
        printer_(options.format, c_, made_) {}

  int run() {
    printer_.begin();
    Status status = run_stages();
    int code = status.ok() ? 0 : report(status);
    if (status.ok() && !train_options_.dry_run) {
      status = use_outputs(options_.outputs, saved_, made_.trainable->fetches, made_.result.outputs);
      code = exit_code(status);
      if (!status.ok()) log_.error(status.message());
    }
    printer_.end(status, code);
    if (cluster_) cluster_->end({code, status.message()});
    return code;
  }

  /// Of a task that is not the chief.
  int serve() {
    const Result<GatheringEnd> end = serve_chief();
    if (!end.ok()) return report_failure(c_, end.status());
    if (end->exit_code != 0 && !cluster_->shares_terminal()) log_.error(cat("the training ended: ", end->text));
    return end->exit_code;
  }

 private:
  Result<TaskFacts> facts(const Loaded& loaded) {
    ASSIGN_OR_RETURN(TaskFacts facts, training_facts(c_, loaded, train_options_));
    facts.insert(facts.end(), flags_.begin(), flags_.end());
    return facts;
  }

  Result<GatheringEnd> serve_chief() {
    ASSIGN_OR_RETURN(const Loaded loaded, load_graph(c_));
    ASSIGN_OR_RETURN(const TaskFacts all, facts(loaded));
    return cluster_->serve(all);
  }

  Status gather(const Loaded& loaded) {
    if (!cluster_) return ok_status();
    ASSIGN_OR_RETURN(const TaskFacts all, facts(loaded));
    RETURN_IF_ERROR(cluster_->gather(all));
    c_.cluster = cluster_->cluster();
    if (own_options_.replication.strategy == Strategy::kPsAsync || own_options_.regroups) {
      cluster_->let_lost_tasks_return();
      own_options_.one_returned = [this] { return cluster_->one_returned(); };
    }
    return ok_status();
  }

  Status run_stages() {
    // A dry run starts no op.
    if (train_options_.dry_run) c_.options.placing.log_eagerly = false;
    ASSIGN_OR_RETURN(const Loaded loaded, load_graph(c_));
    RETURN_IF_ERROR(gather(loaded));
    Status status = run_once(loaded);
    while (goes_on(status)) {
      c_.found = {};  // a graph that is trained is used up
      const Result<Loaded> again = load_graph(c_);
      status = again.ok() ? run_once(*again) : again.status();
    }
    return close(std::move(status));
  }

  /// From the graph to the end of its training, or the loss of a task.
  Status run_once(const Loaded& loaded) {
    const OutputOptions& outputs = options_.outputs;
    ASSIGN_OR_RETURN(made_.trainable,
                     validate_training(c_, loaded, own_options_, !outputs.save.empty() || !outputs.expect.empty()));
    ASSIGN_OR_RETURN(const Placed placed, place_to_run(c_, *made_.trainable));
    ASSIGN_OR_RETURN(const Partitioned partitioned, partition_graph(c_, placed));
    RETURN_IF_ERROR(partitioned.verdict);
    if (train_options_.dry_run) {
      log_.info(placement_summary(placed.file->graph, *placed.devices, *placed.options, *placed.placement,
                                  *partitioned.copies));
      return ok_status();
    }
    ASSIGN_OR_RETURN(made_.planned, plan_run(c_, partitioned, made_.trainable->request, Steps::kOfTraining));
    return train();
  }

  /// After the loss of a task, or the return of one: can those that are there go on, from the last whole step?
  bool goes_on(const Status& status) {
    if (status.blame() != kBlamePeer || !made_.result.state || stop_requested()) return false;
    const bool regroups = !std::exchange(made_.result.for_more_tasks, false);
    const std::optional<std::string> change = regroups ? cluster_->regroup() : cluster_->take_back();
    if (!change) return false;
    if (regroups) log_.warning(status.message().substr(0, status.message().find(';')));
    own_options_.state = std::make_shared<const Checkpoint>(std::move(*made_.result.state));
    made_.result.state.reset();
    log_.info(cat(regroups ? "regrouped: " : "a task came back: ", *change, " at step ", own_options_.state->step));
    made_.planned.reset();
    made_.trainable.reset();  // another one will save to the folder
    return true;
  }

  Status train() {
    if (!progress_) RETURN_IF_ERROR(begin_to_tell());
    ListenerList listeners;
    if (tasks_) tasks_->train_on(made_.trainable->training.replication.replicas), listeners.add(tasks_.get());
    listeners.add(progress_.get());
    listeners.add(&printer_);
    listeners.add(files_.get());
    Status status = emplace::train(
        c_, *made_.planned, *made_.trainable, own_options_, listeners, [&] { began_ = true, say_summary(); },
        made_.result);
    progress_->clear();
    return status;
  }

  /// Once, whatever becomes of the tasks.
  Status begin_to_tell() {
    const Trainable& trainable = *made_.trainable;
    const std::vector<std::string> metrics = trainable.metric_names();
    if (cluster_) tasks_ = std::make_unique<TaskProgress>(*cluster_->cluster());
    progress_ = std::make_unique<ProgressReport>(
        ProgressReport::Options{
            metrics, trainable.training.epochs, trainable.training.steps, train_options_.log_every,
            terminal_columns(log_), " (test)",
            tasks_ ? std::function<std::string(bool)>([this](bool line) { return tasks_->text(line); }) : nullptr},
        [this](const std::string& line) { log_.info(line); }, [this](const std::string& text) { log_.warning(text); });
    ASSIGN_OR_RETURN(saved_, SavedOutputs::open(options_.outputs.save, {}, named_));
    const std::string& optimizer = trainable.training.optimizer;
    title_ = cat(c_.path, optimizer.empty() ? "" : cat(", ", optimizer));
    files_ = std::make_unique<CurveFiles>(train_options_, trainable);
    return files_->open(metrics);
  }

  void say_collectives() {
    const std::vector<message::TrafficMessage>& traffic = c_.cluster->traffic();
    if (!traffic.empty() && traffic.front().collectives > 0)
      log_.debug(cat("gradients and their means went in ", traffic.front().collectives, " collectives of MPI"));
  }

  Status close(Status status) {
    if (!began_) return status;
    const TrainResult& result = made_.result;
    Status closed = files_->close(status.ok() ? &result : nullptr, title_);
    if (status.ok()) status = std::move(closed);
    if (!result.staleness.empty()) log_.info(staleness_text(result));
    if (!result.checkpoint.empty()) log_.info(cat("saved ", printable(result.checkpoint)));
    if (c_.cluster) say_collectives();
    if (made_.planned) report_steps(options_.step_report, *made_.planned->watch, log_);
    if (made_.planned)
      report_memory(options_.memory_report, *made_.planned->devices, made_.planned->session->memory(), log_);
    return status;
  }

  void say_summary() {
    const Dataset *data = made_.trainable->train.get(), *test = made_.trainable->test.get();
    log_.info(cat(summary_line(*made_.planned),
                  data ? cat(" | ", data->rows(), test ? cat(" + ", test->rows()) : "", " samples") : ""));
  }

  int report(const Status& status) {
    if (int signal = caught_signal(); made_.planned && signal != 0 && status.code() == Code::kCancelled) {
      log_.error(cat(printable(c_.path), ": stopped by ", strsignal(signal), " after ", made_.result.steps, " steps"));
      return 128 + signal;
    }
    return report_failure(c_, status);
  }

  const Options& options_;
  const TrainingOptions& train_options_;
  TrainingOptions own_options_;  // the same, and from where to go on
  Log& log_;
  StageContext c_;
  Trained made_;
  NamedFiles named_ = options_.pipeline.files;
  SavedOutputs saved_;
  TaskGroup* const cluster_;
  const TaskFacts flags_;
  TrainPrinter printer_;
  std::unique_ptr<TaskProgress> tasks_;  // null: this process trains alone
  std::unique_ptr<ProgressReport> progress_;
  std::unique_ptr<CurveFiles> files_;
  std::string title_;   // of the curves
  bool began_ = false;  // a step has
};

/// The options that say what is trained, as all tasks must have been told them.
TaskFacts facts_of(const std::vector<OptionSource>& sources) {
  static constexpr std::array<std::string_view, 22> kOfTheTraining = {"batch",
                                                                      "bucket",
                                                                      "clip-norm",
                                                                      "colocate-gradients",
                                                                      "drop-remainder",
                                                                      "epochs",
                                                                      "learning-rate",
                                                                      "loss",
                                                                      "max-staleness",
                                                                      "metric",
                                                                      "optimizer",
                                                                      "ps",
                                                                      "replicas",
                                                                      "seed",
                                                                      "shuffle",
                                                                      "signature",
                                                                      "steps",
                                                                      "strategy",
                                                                      "tags",
                                                                      "target",
                                                                      "allow-soft-placement",
                                                                      "deterministic"};
  TaskFacts facts;
  for (const OptionSource& option : sources) {
    if (std::find(kOfTheTraining.begin(), kOfTheTraining.end(), option.name) == kOfTheTraining.end()) continue;
    std::string values;
    for (const std::string& value : option.values) append(values, values.empty() ? "" : " ", value);
    facts.emplace_back(cat("--", option.name), values);
  }
  return facts;
}

/// What can be judged of the options without the graph.
Status check_train_values(const TrainingOptions& train, NamedFiles files) {
  TrainRequest request;
  DataRequest data;
  data.train.emplace();
  data.test.emplace();
  RETURN_IF_ERROR(apply_train_flags(train.flags, request, data));
  RETURN_IF_ERROR(check_replication(train.replication));
  RETURN_IF_ERROR(files.writes(train.graph_out, "--graph-out"));
  RETURN_IF_ERROR(files.writes(train.log_csv, "--log-csv"));
  return files.writes(train.plot, "--plot");
}

class TrainCommand final : public Command {
 public:
  void declare(OptionSet& set, Options& o) override {
    set_ = &set;
    o.pipeline.placing.available_kernels_only = true;
    set.positional("GRAPH", "GRAPH '-' is standard input.", o.arguments);
    declare_placed_run(set, o.pipeline, Steps::kOfTraining);
    declare_memory_report(set, o);
    declare_step_report(set, o);
    declare_execution(set, o.pipeline, Steps::kOfTraining);
    declare_trace(set, o.pipeline);
    declare_watched(set, o.pipeline.run.watched);
    declare_outputs(set, o.outputs);
    set.group("Training");
    declare_train_options(set, train_);
    declare_task_group(set, cluster_);
    set.group("Files and output");
    declare_loading(set, o.pipeline);
    declare_format(set, o, std::array{Format::kText, Format::kJson, Format::kJsonl});
  }

  bool writes(const Options& options) const override { return is_chief(cluster_, options.pipeline); }

  int run(const Options& options, Log& log) override {
    if (!writes(options)) set_document_format(Format::kText);
    if (options.arguments.size() != 1)
      return usage(log, options.arguments.empty() ? "no graph file given" : "train takes one graph file");
    if (const Status status = check_watched(options.pipeline.run); !status.ok()) return usage(log, status);
    train_.regroups = cluster_.regroups;
    const Status status = check_train_values(train_, options.pipeline.files);
    if (!status.ok()) return usage(log, status);
    if (options.pipeline.typed.contains("min-workers") && !cluster_.regroups)
      return usage(log, "--min-workers is of --on-peer-loss regroup, which goes on without the workers that are lost");
    if (!cluster_.given(options.pipeline)) return TrainingRun(options, train_, nullptr, {}, log).run();
    if (options.arguments.front() == "-")
      return usage(log, "each task reads the graph file, and standard input can be read once");
    cluster_.server.data_roots = folders_of(options.arguments, options.pipeline);
    const auto cluster = TaskGroup::open(cluster_, options.pipeline, log);
    if (!cluster.ok()) return report_error(cluster.status(), log);
    TrainingRun run(options, train_, cluster->get(), facts_of(set_->sources()), log);
    return (*cluster)->is_chief() ? run.run() : run.serve();
  }

 private:
  TrainingOptions train_;
  TaskGroupFlags cluster_;
  const OptionSet* set_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> make_train_command() { return std::make_unique<TrainCommand>(); }

}  // namespace emplace
