// emplace bench: how long a step takes, and what takes it.
#include <array>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <tuple>

#include "cli/bench_run.h"
#include "cli/bench_sweep.h"
#include "cli/command.h"
#include "cli/link_costs.h"
#include "cli/machine_peaks.h"
#include "cli/signals.h"
#include "core/base/cat.h"
#include "core/base/heap_limit.h"
#include "core/base/input_file.h"
#include "core/base/machine_name.h"
#include "core/base/output_file.h"
#include "core/base/program_version.h"
#include "core/base/sha256.h"
#include "core/device/device_text.h"
#include "core/machine_costs.h"
#include "core/place/overrides.h"
#include "core/predict_left_out.h"
#include "core/run/thread_pool.h"
#include "core/verify_auto.h"

namespace emplace {
namespace {

constexpr int kSlower = 7;

struct BenchFlags {
  std::string baseline, output, save_costs;
  double min_time_s = 1;
  bool no_nodes = false;
  std::vector<std::string> sweep;
  int64_t top = 20;
};

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  char text[32];
  gmtime_r(&now, &parts);
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

/// "slower", or "slower=2%": from which share on; nothing if it is not that.
std::optional<double> slower_gate(const std::string& text) {
  if (text == "slower") return 0;
  if (!text.starts_with("slower=")) return {};
  double percent = 0;
  const std::string number = text.substr(7, text.size() - 7 - (text.back() == '%' ? 1 : 0));
  return set_number(percent)(number).ok() && percent >= 0 ? std::optional(percent / 100) : std::nullopt;
}

class BenchCommand final : public Command {
 public:
  void declare(OptionSet& set, Options& o) override {
    o.pipeline.placing.available_kernels_only = true;
    o.measures = true;
    set.positional("GRAPH", "Warms up until steps take equally long, then measures at least 20 steps and 1 s.",
                   o.arguments);
    set.group("Measurement");
    set.value("min-time", "S",
              "Measure for at least so many seconds (1); --steps N measures N steps, --warmup N warms up for at most N",
              [this](const std::string& text) -> Status {
                RETURN_IF_ERROR(set_number(flags_.min_time_s)(text));
                return flags_.min_time_s >= 0 ? ok_status() : invalid_argument(cat("'", text, "' is not a time"));
              });
    set.text("baseline", "FILE", "Compare with what -o wrote; --fail-on slower[=2%] makes exit code 7 of it",
             flags_.baseline);
    set.text("output,-o", "FILE", "Keep all samples, flags, versions, devices and hashes", flags_.output);
    set.text("save-costs", "FILE", "Write what nodes, kernels and links cost, for --costs", flags_.save_costs);
    set.list("sweep", "KEY=VALUES",
             "A row for each value, and for each combination of several --sweep: an option (inter-op-threads=1,2), "
             "devices=CPU,GPU:0,GPU:0+GPU:1 or batch=1,8 (of --feed)",
             flags_.sweep);
    set.flag("no-nodes", "Leave out the second pass, which times each node", flags_.no_nodes);
    set.value("top", "N", "Show at most N nodes (20)", set_integer(flags_.top, 1));
    declare_placed_run(set, o.pipeline);
    declare_verify(set, o.pipeline.placing.automatic);
    set.more_words("fail-on", {"slower=PERCENT"});
    declare_execution(set, o.pipeline);
    declare_trace(set, o.pipeline);
    declare_watched(set, o.pipeline.run.watched);
    set.group("Files and output");
    declare_loading(set, o.pipeline);
    declare_format(set, o, std::array{Format::kText, Format::kJson, Format::kJsonl, Format::kCsv, Format::kMarkdown});
    set_ = &set;
  }

  int run(const Options& options, Log& log) override {
    if (options.arguments.size() != 1) return usage(log, "wanted one graph: emplace bench GRAPH");
    if (flags_.no_nodes && !flags_.save_costs.empty())
      return usage(log, "--save-costs needs the pass that --no-nodes leaves out");
    if (const Status status = check_watched(options.pipeline.run); !status.ok()) return usage(log, status);
    if (!flags_.sweep.empty()) return sweep(options, log);
    if (options.format != Format::kText && options.format != Format::kJson)
      return usage(log, cat("--format ", format_name(options.format), " is of --sweep"));
    Options o = options;
    std::optional<double> gate;
    if (Status status = take_gate(o.pipeline.placing.gates.fail_on, o.pipeline.placing.automatic.verify, gate);
        !status.ok())
      return usage(log, status);
    NamedFiles files = options.pipeline.files;
    if (!flags_.save_costs.empty() && flags_.save_costs == costs_of_this_machine()) {
      std::error_code ignored;  // whoever opens the file says why there is no folder
      std::filesystem::create_directories(std::filesystem::path(flags_.save_costs).parent_path(), ignored);
    }
    for (const auto& [file, option] :
         {std::pair<const std::string&, const char*>(flags_.output, "-o"), {flags_.save_costs, "--save-costs"}}) {
      if (file.empty()) continue;
      if (Status status = files.writes(file, option); !status.ok()) return usage(log, status);
    }
    std::optional<Baseline> baseline;
    if (!flags_.baseline.empty()) {
      Result<Baseline> read = open_baseline();
      if (!read.ok()) return usage(log, read.status().with_context("--baseline"));
      baseline = read.take();
    }
    Files written;
    for (const auto& [name, option, file] :
         {std::tuple(&flags_.output, "-o", &written.output), {&flags_.save_costs, "--save-costs", &written.costs}}) {
      if (name->empty()) continue;
      Result<OutputFile> opened = OutputFile::open(*name);
      if (!opened.ok()) return report_error(opened.status().with_context(option), log);
      *file = opened.take();
    }
    return bench(o, baseline ? &*baseline : nullptr, gate, written, log);
  }

 private:
  int sweep(const Options& options, Log& log) const {
    if (options.arguments[0] == "-") return usage(log, "--sweep reads the graph more than once; give it a file");
    if (options.format == Format::kJson) return usage(log, "--sweep gives a document for each row: --format jsonl");
    Result<BenchSweep> made = BenchSweep::make(flags_.sweep, *set_);
    if (!made.ok()) return usage(log, made.status().with_context("--sweep"));
    return made->run(options.arguments[0], options.format, log);
  }

  /// Takes "slower" out of the gates of the placement.
  Status take_gate(std::vector<std::string>& fail_on, bool verifies, std::optional<double>& gate) const {
    std::vector<std::string> of_placement;
    for (const std::string& entry : fail_on) {
      for (const std::string_view word : gate_words(entry)) {
        if (!word.starts_with("slower") || (word == "slower" && verifies && flags_.baseline.empty())) {
          of_placement.emplace_back(word);
          continue;
        }
        gate = slower_gate(std::string(word));
        if (!gate) return invalid_argument(cat("--fail-on '", word, "': wanted slower or slower=2%"));
        if (flags_.baseline.empty()) return invalid_argument("--fail-on slower needs --baseline FILE");
      }
    }
    fail_on = std::move(of_placement);
    return ok_status();
  }

  Result<Baseline> open_baseline() const {
    ASSIGN_OR_RETURN(const std::shared_ptr<const InputFile> file, InputFile::open(flags_.baseline));
    return read_baseline(file->bytes(), flags_.baseline);
  }

  static int threads_of(const PipelineOptions& o) {
    const int asked = static_cast<int>(o.run.intra_op_threads);
    return asked > 0 ? asked : ThreadPool::shared().size();
  }

  BenchFacts facts_of(const StageContext& c, const Partitioned& made) const {
    BenchFacts facts;
    facts.file = c.path;
    facts.graph_hash = sha256_hex(c.found.source->text());
    facts.placement_hash = placement_hash(made.file->graph, *made.devices, *made.placement);
    facts.machine = machine_name();
    facts.version = program_version();
    facts.threads = threads_of(c.options);
    for (DeviceId d = 0; d < made.devices->size(); ++d) facts.devices.push_back(short_device_name(*made.devices, d));
    constexpr std::string_view kOwn[] = {"baseline", "output",   "save-costs", "top",    "format",
                                         "fail-on",  "min-time", "steps",      "warmup", "no-nodes"};
    for (const OptionSource& option : set_->sources()) {
      if (std::find(std::begin(kOwn), std::end(kOwn), option.name) != std::end(kOwn)) continue;
      for (const std::string& value : option.values) facts.flags.push_back(cat("--", option.name, "=", value));
    }
    return facts;
  }

  BenchPlan plan_of(const Options& o, const Baseline* baseline) const {
    BenchPlan plan;
    if (baseline) {
      for (const double us : baseline->steps.pace_us) plan.pace_us = std::min(plan.pace_us, us);
    }
    plan.min_time_s = flags_.min_time_s;
    plan.trace_nodes = !flags_.no_nodes;
    plan.threads = std::min(threads_of(o.pipeline), ThreadPool::shared().size());
    if (o.pipeline.given.count("steps") > 0) plan.max_steps = o.pipeline.run.steps;
    if (o.pipeline.given.count("warmup") > 0) plan.max_warmup = o.pipeline.run.warmup;
    return plan;
  }

  /// Those that were asked for are open.
  struct Files {
    OutputFile output, costs;
  };

  static Status write(OutputFile& file, const std::string& text) {
    if (!file.is_open()) return ok_status();
    RETURN_IF_ERROR(file.write(text));
    return file.commit();
  }

  /// Its processors, and its links if they were asked for.
  Status measure_machine(const StageContext& c, bool links, BenchResult& result) const {
    const HeapLimit no_limit = HeapLimit::none();  // by threads
    if (!flags_.no_nodes) result.peaks = measure_peaks(static_cast<int>(result.facts.threads));
    if (!links) return ok_status();
    ASSIGN_OR_RETURN(result.links, measure_links(c));
    return ok_status();
  }

  int bench(const Options& o, const Baseline* baseline, std::optional<double> gate, Files& files, Log& log) const {
    StageContext c(o.pipeline, o.arguments.front(), log, &stop_flag());
    const HeapLimit limit;
    BenchResult result;
    std::optional<Partitioned> made;
    const BusyMeter meter;
    const Status status = measure(c, plan_of(o, baseline), made, result);
    if (!status.ok()) return fail(c, status);
    result.facts = facts_of(c, *made);
    result.steps.others = meter.others();
    if (Status measured = measure_machine(c, files.costs.is_open(), result); !measured.ok()) return fail(c, measured);
    BenchReport report{&made->file->graph, made->devices.get(), &result, baseline, {}, static_cast<size_t>(flags_.top)};
    if (c.found.automatic && c.options.placing.automatic.pick == AutoPick::kFound)
      report.predicted = predicted_step(*c.found.automatic, *made);
    Result<std::vector<LeftOut>> left_out = predict_left_out(c, *made);
    if (!left_out.ok()) return fail(c, left_out.status());
    report.left_out = left_out.take();
    report.line_width = output_width();
    if (baseline) report.change = time_change(baseline->steps, result.steps);
    Status written = write(files.output, files.output.is_open() ? bench_json(report) : std::string());
    if (written.ok()) written = write(files.costs, files.costs.is_open() ? costs_json(report, today()) : std::string());
    if (!written.ok()) return report_error(written, log);
    o.format == Format::kJson ? print(bench_json(report)) : print_lines(bench_text(report));
    const bool slower = gate && report.change->verdict == TimeVerdict::kSlower && report.change->change > *gate;
    if (slower)
      log.error(cat("gate: --fail-on slower: the step takes ", std::round(report.change->change * 1000) / 10,
                    " % longer than in ", flags_.baseline));
    return slower ? kSlower : 0;
  }

  static PredictedStep predicted_step(const AutoReport& found, const Partitioned& made) {
    const DeviceSet& devices = *made.devices;
    PredictedStep step;
    step.us = found.latency ? found.predicted_us : found.one_step_us;
    step.low_us = found.latency ? found.low_us : step.us, step.high_us = found.latency ? found.high_us : step.us;
    for (const AutoReport::Load& load : found.loads) step.compute_us.push_back(load.compute_us);
    for (const AutoReport::Row& row : found.schedule) {
      if (!row.copy) continue;
      const DeviceId from = devices.find(row.device), to = devices.find(row.to);
      const auto same = [&](const PredictedStep::Way& way) { return way.from == from && way.to == to; };
      auto way = std::find_if(step.copies.begin(), step.copies.end(), same);
      if (way == step.copies.end()) way = step.copies.insert(way, {from, to, 0});
      way->us += row.end_us - row.start_us;
    }
    // A step that was lowered has other nodes than the graph that was placed.
    if (!made.lowering) step.node_costs = found.node_costs;
    return step;
  }

  static Status verified(StageContext& c) {
    const HeapLimit no_limit = HeapLimit::none();  // by steps
    return verify_first(c);
  }

  static Status measure(StageContext& c, const BenchPlan& plan, std::optional<Partitioned>& made, BenchResult& result) {
    RETURN_IF_ERROR(verified(c));
    ASSIGN_OR_RETURN(const Loaded loaded, load_graph(c));
    ASSIGN_OR_RETURN(const Runnable runnable, validate_run(c, loaded));
    ASSIGN_OR_RETURN(const Placed placed, place_to_run(c, runnable));
    ASSIGN_OR_RETURN(made, partition_graph(c, placed));
    RETURN_IF_ERROR(made->verdict);
    if (c.options.run.seed == 0) c.options.run.seed = 1;
    return measure_steps({c, *made, runnable.request}, plan, result);
  }

  BenchFlags flags_;
  const OptionSet* set_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> make_bench_command() { return std::make_unique<BenchCommand>(); }

}  // namespace emplace
