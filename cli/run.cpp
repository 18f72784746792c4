// emplace run: execute, print the fetched tensors; everything else goes to standard error.
#include <array>
#include <cmath>
#include <functional>

#include "cli/cluster_flags.h"
#include "cli/command.h"
#include "cli/kernel_difference.h"
#include "cli/outputs.h"
#include "cli/signals.h"
#include "core/base/cat.h"
#include "core/base/exit_code.h"
#include "core/base/json_writer.h"
#include "core/base/printable.h"
#include "core/base/schema.h"
#include "core/base/sha256.h"
#include "core/base/units.h"
#include "core/fetch_filter.h"
#include "core/place/overrides.h"
#include "core/report/placement_log.h"
#include "core/report/run_report.h"
#include "core/run_watch.h"
#include "core/sequence_values.h"
#include "core/verify_auto.h"

namespace emplace {
namespace {

using Drain = std::function<void()>;

/// Rounded to nanoseconds, of which a unit has `ns_per_unit`.
double to_ns(double time, double ns_per_unit) { return std::round(time * ns_per_unit) / ns_per_unit; }

void write_timing(JsonWriter& json, const Timings& t) {
  json.key("timing").begin_object().member("load_ms", to_ns(t.load_ms, 1e6)).member("place_ms", to_ns(t.place_ms, 1e6));
  json.member("plan_ms", to_ns(t.plan_ms, 1e6)).member("first_step_us", to_ns(t.first_step_us, 1e3)).key("step_us");
  write_step_times(json, t.step_us);
  if (t.us_per_step > 0) json.member("us_per_step", to_ns(t.us_per_step, 1e3));
  json.end_object();
}

/// What the stages made, as far as they came.
struct Made {
  RunRequest request;
  std::optional<Placed> placed;
  std::optional<Planned> planned;
  std::vector<Tensor> outputs;
};

/// Of a run on the tasks of a cluster: what each has done.
void write_tasks(JsonWriter& json, const Cluster& cluster, const Placed& placed) {
  const TaskMap tasks(*placed.devices);
  std::vector<int64_t> nodes(tasks.size());
  for (const Decision& d : placed.placement->decisions) ++nodes[tasks.of[d.device]];
  json.key("tasks").begin_array();
  for (const message::TaskStatus& task : cluster.tasks().tasks) {
    const TaskId id = tasks.find(task.name);
    json.begin_object().member("name", task.name).member("address", task.address);
    json.member("incarnation", task.incarnation).member("nodes", id == kNoTask ? 0 : nodes[id]);
    for (const message::TrafficMessage& t : cluster.traffic()) {
      if (t.task == task.name) json.member("sent_bytes", t.sent_bytes).member("received_bytes", t.received_bytes);
    }
    json.end_object();
  }
  json.end_array();
}

/// The members that a document and an "end" record share; `outputs` may be null.
void write_facts(JsonWriter& json, const StageContext& c, const Made& made, const std::vector<Tensor>* outputs,
                 const Drain& drain) {
  json.key("graph").begin_object().member("file", c.path).key("sha256");
  c.found.source ? json.value(sha256_hex(c.found.source->text())) : json.null();
  json.end_object().key("placement_hash");
  made.placed ? json.value(placement_hash(made.placed->file->graph, *made.placed->devices, *made.placed->placement))
              : json.null();
  if (outputs) write_outputs(json, made.request.fetches, *outputs, drain);
  write_timing(json, c.timings);
  made.planned ? write_summary(json, *made.planned) : static_cast<void>(json.key("summary").null());
  if (made.planned) {
    if (const auto report = made.planned->watch->step_report()) write_step_report(json.key("step_report"), *report);
  }
  if (c.cluster && made.placed) write_tasks(json, *c.cluster, *made.placed);
}

/// One graph's results in the form that --format asks for.
class Printer {
 public:
  /// `several`: text names the graph.
  Printer(Format format, bool several, const StageContext& context, const Made& made)
      : format_(format), several_(several), c_(context), made_(made) {}

  void begin() const {
    if (format_ != Format::kJsonl) return;
    record([&](JsonWriter& json, const Drain&) {
      write_schema(json.member("event", "begin"), Document::kRunRecords).member("file", c_.path);
    });
  }

  Status step(int64_t step, const std::vector<Tensor>& outputs) const {
    if (format_ != Format::kJsonl) return ok_status();
    record([&](JsonWriter& json, const Drain& drain) {
      json.member("event", "step").member("file", c_.path).member("step", step);
      write_outputs(json, made_.request.fetches, outputs, drain);
    });
    return output_failed() ? Status(Code::kCancelled, "nobody reads standard output") : ok_status();
  }

  void end(const Status& status, int code) const {
    if (format_ == Format::kText) {
      if (code != 0 && code != 7) return;
      if (several_) print(printable(c_.path) + ":\n");
      return print_outputs(made_.request.fetches, made_.outputs);
    }
    record([&](JsonWriter& json, const Drain& drain) {
      if (format_ == Format::kJsonl) {
        json.member("event", "end").member("file", c_.path).member("status", code_name(status.code()));
      } else {
        write_schema(json, Document::kRun);
      }
      const std::vector<Tensor> none;
      write_facts(json, c_, made_, format_ == Format::kJsonl ? nullptr : status.ok() ? &made_.outputs : &none, drain);
      json.member("exit", code).key("error");
      write_error(json, status);
    });
  }

 private:
  template <class F>
  void record(const F& members) const {
    std::string line;
    JsonWriter json(line);
    json.begin_object();
    members(json, [&line] { print(line), line.clear(); });
    json.end_object();
    print(line + "\n");
  }

  const Format format_;
  const bool several_;
  const StageContext& c_;
  const Made& made_;
};

/// After a run that missed a value: what it needs, as it would be written. An open dimension stands as 1.
void hint_at_feeds(const Graph& g, const std::vector<NodeId>& unfed, Log& log) {
  constexpr size_t kShown = 8;
  std::string flags;
  for (size_t i = 0; i < unfed.size() && i < kShown; ++i) {
    if (const auto of_sequence = find_sequence_input(g, sequence_name(g.name(unfed[i])))) {
      if (of_sequence->values.node == unfed[i]) append(flags, " --feed ", g.name(unfed[i]), "=@FILE.npz");
      continue;
    }
    const DType type = g.output_type({unfed[i], 0});
    if (type == DType::kVariant || type == DType::kResource) continue;  // none can be written
    const Shape& shape = g.output_shape({unfed[i], 0});
    std::string dims;
    for (int d = 0; shape.rank_known() && d < shape.rank(); ++d) append(dims, shape.dim(d) < 0 ? 1 : shape.dim(d), "x");
    append(flags, " --feed ", g.name(unfed[i]), "=", dims, dtype_name(type), "=VALUES");
  }
  if (!flags.empty())
    log.problem(cat("  hint:", flags, unfed.size() > kShown ? " ..." : "", " (or @FILE, zeros, random:SEED)"));
}

std::string times_text(const StageContext& c) {
  std::string own = step_times_text(c.timings.step_us);
  if (c.timings.us_per_step <= 0) return own;
  return cat(own, "; ", c.options.run.in_flight, " in flight, one every ", time_text(c.timings.us_per_step / 1e6));
}

Status run_stages(StageContext& c, const Printer& printer, Made& made) {
  RETURN_IF_ERROR(verify_first(c));
  if (fetches_by_filter(c.options.run)) RETURN_IF_ERROR(name_fetches(c));
  ASSIGN_OR_RETURN(const Loaded loaded, load_graph(c));
  ASSIGN_OR_RETURN(const Runnable runnable, validate_run(c, loaded));
  made.request = runnable.request;
  ASSIGN_OR_RETURN(made.placed, place_to_run(c, runnable));
  ASSIGN_OR_RETURN(const Partitioned partitioned, partition_graph(c, *made.placed));
  RETURN_IF_ERROR(partitioned.verdict);
  ASSIGN_OR_RETURN(made.planned, plan_run(c, partitioned, made.request));
  return execute(c, *made.planned, made.request, made.outputs,
                 [&](int64_t step, const auto& outputs) { return printer.step(step, outputs); });
}

int run_graph(const Options& options, const std::string& path, const std::string& label, Cluster* cluster,
              NamedFiles& files, Log& log) {
  StageContext c(options.pipeline, path, log, &stop_flag());
  c.cluster = cluster;
  Made made;
  const Printer printer(options.format, options.arguments.size() > 1, c, made);
  printer.begin();
  Result<SavedOutputs> saved = SavedOutputs::open(options.outputs.save, label, files);
  Status status = saved.ok() ? run_stages(c, printer, made) : saved.status();
  int code = status.ok() ? 0 : report_failure(c, status);
  if (status.code() == Code::kInvalidArgument && c.stage == Stage::kExecute)
    hint_at_feeds(made.planned->file->graph, unfed_placeholders(*made.planned->file, made.request), log);
  if (code == 0) {
    status = use_outputs(options.outputs, *saved, made.request.fetches, made.outputs);
    code = exit_code(status);
    if (!status.ok()) log.error(status.message());
  }
  printer.end(status, code);
  if (code == 0 || code == 7) {
    say_kernel_difference(*made.placed, true, log);
    log.info(summary_line(*made.planned));
    report_steps(options.step_report, *made.planned->watch, log);
    if (options.format == Format::kText && c.timings.step_us.size() > 1) log.info(times_text(c));
    report_memory(options.memory_report, *made.planned->devices, made.planned->session->memory(), log);
  }
  return code;
}

/// Of several graphs, each would replace what the one before it wrote.
Status check_single_files(const Options& options) {
  if (options.arguments.size() < 2) return ok_status();
  if (!options.pipeline.run.trace.empty()) return invalid_argument("--trace takes one graph");
  if (!options.pipeline.placing.placement_out.empty()) return invalid_argument("--placement-out takes one graph");
  for (const std::string& target : options.outputs.save) {
    if (target.ends_with(".npz") || target.ends_with(".npy"))
      return invalid_argument(cat("--save ", target, " takes one graph; a folder takes several"));
  }
  return ok_status();
}

class RunCommand final : public Command {
 public:
  void declare(OptionSet& set, Options& o) override {
    o.pipeline.placing.available_kernels_only = true;
    set.positional("GRAPH...", kGraphsHelp, o.arguments);
    declare_placed_run(set, o.pipeline);
    declare_verify(set, o.pipeline.placing.automatic);
    declare_memory_report(set, o);
    declare_execution(set, o.pipeline);
    declare_trace(set, o.pipeline);
    declare_watched(set, o.pipeline.run.watched, Watched::kTraceAndFetches);
    declare_in_flight(set, o.pipeline);
    declare_step_report(set, o);
    declare_cluster(set, cluster_);
    declare_outputs(set, o.outputs);
    set.group("Files and output");
    declare_loading(set, o.pipeline);
    declare_keep_going(set, o);
    declare_format(set, o, std::array{Format::kText, Format::kJson, Format::kJsonl});
  }

  int run(const Options& options, Log& log) override {
    if (const Status status = check_single_files(options); !status.ok()) return usage(log, status);
    if (const Status status = check_watched(options.pipeline.run); !status.ok()) return usage(log, status);
    if (fetches_by_filter(options.pipeline.run) &&
        std::count(options.arguments.begin(), options.arguments.end(), "-") > 0)
      return usage(log, "--fetch '*' reads the graph twice; give it a file");
    cluster_.server.data_roots = folders_of(options.arguments, options.pipeline);
    if (is_task(options)) return run_as_task(options, log);
    ClusterUse use;
    if (const Status status = use.open(cluster_, options.pipeline, log); !status.ok()) return report_error(status, log);
    return run_graphs(options, use.cluster(), log);
  }

  bool writes(const Options& options) const override {
    return !is_task(options) || is_chief(group_flags(), options.pipeline);
  }

 private:
  bool is_task(const Options& options) const {
    return is_task_itself(cluster_.mpi, cluster_.server.choice, options.pipeline);
  }
  TaskGroupFlags group_flags() const { return {cluster_.server, {}, false, cluster_.mpi}; }

  /// All tasks run this command.
  int run_as_task(const Options& options, Log& log) {
    if (!cluster_.master.empty() || !cluster_.spawn.empty() || cluster_.local_server) {
      return usage(log,
                   cat(cluster_.mpi ? "--engine mpi" : "a task of --cluster", ": this process is one of the tasks; ",
                       "--master, --spawn and --local-server are for servers, which others are"));
    }
    if (std::count(options.arguments.begin(), options.arguments.end(), "-") > 0)
      return usage(log, "each task reads the graph file, and standard input can be read once");
    const Result<std::unique_ptr<TaskGroup>> opened = TaskGroup::open(group_flags(), options.pipeline, log);
    if (!opened.ok()) return report_error(opened.status(), log);
    TaskGroup& group = **opened;
    const TaskFacts facts = facts_of(options.arguments);
    if (!group.is_chief()) return serve_chief(group, facts, log);
    if (const Status status = group.gather(facts); !status.ok()) {
      const int code = report_error(status, log);
      return group.end({code, status.message()}), code;
    }
    const int code = run_graphs(options, group.cluster(), log);
    group.end({code, cat("exit code ", code)});
    return code;
  }

  static int serve_chief(TaskGroup& group, const TaskFacts& facts, Log& log) {
    set_document_format(Format::kText);
    const Result<GatheringEnd> end = group.serve(facts);
    if (!end.ok()) return report_error(end.status(), log);
    if (end->exit_code != 0 && !group.shares_terminal()) log.error(cat("the run ended: ", end->text));
    return end->exit_code;
  }

  /// What the tasks must have in common: the graph files.
  static TaskFacts facts_of(const std::vector<std::string>& paths) {
    TaskFacts facts;
    for (const std::string& path : paths) {
      const auto source = Source::open(path);  // of a folder, only its name: the chief reads it
      facts.emplace_back(cat("graph ", path), source.ok() ? sha256_hex((*source)->text()) : "no file");
    }
    return facts;
  }

  static int run_graphs(const Options& options, Cluster* cluster, Log& log) {
    NamedFiles files = options.pipeline.files;
    const std::vector<std::string> labels = graph_labels(options.arguments);
    size_t graph = 0;
    return for_each_graph(options, log, [&](const std::string& path) {
      return run_graph(options, path, labels[graph++], cluster, files, log);
    });
  }

  ClusterFlags cluster_;
};

}  // namespace

std::unique_ptr<Command> make_run_command() { return std::make_unique<RunCommand>(); }

}  // namespace emplace
