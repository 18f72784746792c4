// emplace reduce: of a graph that fails, the part that fails.
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "cli/command.h"
#include "cli/reduce_graph.h"
#include "cli/run_process.h"
#include "cli/scratch_folder.h"
#include "cli/signals.h"
#include "core/base/cat.h"
#include "core/base/printable.h"
#include "core/base/schema.h"
#include "core/base/units.h"
#include "core/function_stage.h"
#include "core/graph/lookup.h"
#include "core/pipeline_stage.h"

namespace emplace {
namespace {

struct ReduceFlags {
  std::string output, check, condition, record, a, b;
  double timeout_s = 60;
  int64_t jobs = 1;
};

struct Reduced {
  int64_t nodes_before = 0, nodes = 0, variables_before = 0, variables = 0, tries = 0, cached = 0;
  double seconds = 0;
};

class ReduceCommand final : public Command {
 public:
  void declare(OptionSet& set, Options& o) override {
    o.pipeline.placing.available_kernels_only = true;
    set.positional(
        "GRAPH",
        "Leaves out of GRAPH what is not needed for it to fail; the file of -o always has the smallest so far.",
        o.arguments);
    set.group("The failure");
    set.text(
        "output,-o", "FILE",
        "Where the smaller graph goes: .json, .pb or .pbtxt; without feeds in the latter two, whose place Consts take",
        flags_.output);
    set.text("check", "COMMAND", "Ends with exit code 0 while the failure is there; {} stands for the graph's file",
             flags_.check);
    set.value("while", "CONDITION",
              "Instead: exits=N, says=REGEX, diverges (with --a, --b), places=NODE@DEVICE, of emplace with the flags "
              "given here",
              {[this](const std::string& text) { return flags_.condition = text, ok_status(); },
               {"exits=N", "says=TEXT", "diverges", "places=NODE@DEVICE"}});
    set.text("a", "FLAGS", "Of 'diverges': side A of emplace compare", flags_.a);
    set.text("b", "FLAGS", "Of 'diverges': side B", flags_.b);
    set.value("rtol", "R", "Of 'diverges': allowed difference, as a share of A's size (1e-05)",
              set_tolerance(o.outputs.rtol));
    set.value("atol", "A", "Of 'diverges': and the allowed difference beside (1e-08)", set_tolerance(o.outputs.atol));
    set.value("try-timeout", "S", "End a try after so many seconds (60)", set_number(flags_.timeout_s));
    set.value("jobs,-j", "N", "Try so many candidates beside each other; the result is the same (1)",
              set_integer(flags_.jobs, 1));
    set.text("record", "DIR", "Only run GRAPH, and write every tensor to DIR, which is made", flags_.record);
    declare_placed_run(set, o.pipeline);
    declare_execution(set, o.pipeline);
    set.group("Files and output");
    declare_loading(set, o.pipeline);
    declare_format(set, o, std::array{Format::kText, Format::kJson});
    set_ = &set;
  }

  int run(const Options& options, Log& log) override {
    if (options.arguments.size() != 1 || options.arguments[0] == "-")
      return usage(log, "wanted one graph file: emplace reduce GRAPH -o MIN.json --while exits=139");
    if (!options.pipeline.placing.placement_out.empty())
      return usage(log, "--placement-out takes one placement, and reduce makes many");
    if (!flags_.record.empty()) return record(options, log);
    if (flags_.output.empty()) return usage(log, "where to? -o MIN.json");
    if (!reduced_form(flags_.output))
      return usage(log, cat("-o '", printable(flags_.output), "': the ending tells the format: .json, .pb or .pbtxt"));
    if (flags_.condition != "diverges" &&
        options.pipeline.given.count("rtol") + options.pipeline.given.count("atol") > 0)
      return usage(log, "--rtol and --atol are of --while diverges");
    NamedFiles files = options.pipeline.files;
    if (Status status = files.writes(flags_.output, "-o"); !status.ok()) return usage(log, status);
    Result<std::string> output = replaceable(flags_.output);
    if (!output.ok()) return usage(log, output.status());
    target_ = output.take();
    Result<ReduceCheck> check = ReduceCheck::make(flags_.check, flags_.condition, flags_of_tries(), flags_.timeout_s);
    if (!check.ok()) return usage(log, check.status());
    return reduce(options, *check, log);
  }

 private:
  /// What stands for the smallest so far is replaced again and again, where a link leads.
  static Result<std::string> replaceable(const std::string& path) {
    namespace fs = std::filesystem;
    std::error_code error;
    const bool is_link = fs::is_symlink(path, error);
    error.clear();  // a file that is not there yet is none
    const fs::path target = is_link ? fs::canonical(path, error) : fs::path(path);
    if (error || (fs::exists(target, error) && !fs::is_regular_file(target, error)))
      return invalid_argument(
          cat("-o: '", printable(path), "' is no regular file: the smallest so far is put there again and again"));
    if (reduced_form(target.string()) != reduced_form(path))
      return invalid_argument(
          cat("-o: '", printable(path), "' leads to '", printable(target.string()), "', which has another ending"));
    return target.string();
  }

  static std::string word(std::string_view name, const std::string& value) { return cat("--", name, "=", value); }

  /// What is said of runs and sides, without what is this command's own and without what a candidate says itself.
  std::vector<std::string> flags_of_tries() const {
    constexpr std::string_view kOwn[] = {
        "output", "check",  "while",   "a",     "b",         "try-timeout", "jobs",   "record",      "fetch", "target",
        "feed",   "format", "verbose", "quiet", "log-level", "log-file",    "config", "dump-config", "color"};
    std::vector<std::string> flags;
    for (const OptionSource& option : set_->sources()) {
      if (option.source != "command line" || std::find(std::begin(kOwn), std::end(kOwn), option.name) != std::end(kOwn))
        continue;
      for (const std::string& value : option.values) flags.push_back(word(option.name, value));
    }
    if (!flags_.a.empty()) flags.push_back(word("a", flags_.a));
    if (!flags_.b.empty()) flags.push_back(word("b", flags_.b));
    return flags;
  }

  int record(const Options& options, Log& log) const {
    std::error_code error;
    std::filesystem::create_directories(flags_.record, error);
    if (error)
      return usage(log, cat("--record: cannot make folder '", printable(flags_.record), "': ", error.message()));
    StageContext c(options.pipeline, options.arguments[0], log, &stop_flag());
    const Status status = record_values(c, flags_.record);
    return status.ok() ? 0 : report_failure(c, status);
  }

  /// In a process of its own, which may crash.
  Status record_apart(const Options& options, const std::string& folder) const {
    if (folder.empty()) return ok_status();
    std::vector<std::string> words = {"/proc/self/exe", "reduce", options.arguments[0], word("record", folder)};
    for (const OptionSource& option : set_->sources()) {
      if (option.source != "command line" || option.name == "a" || option.name == "b" || option.name == "check" ||
          option.name == "while" || option.name == "jobs" || option.name == "output" || option.name == "try-timeout" ||
          option.name == "format")
        continue;
      for (const std::string& value : option.values) words.push_back(word(option.name, value));
    }
    return run_process(words, flags_.timeout_s).take_status();
  }

  int reduce(const Options& options, const ReduceCheck& check, Log& log) const {
    const auto start = std::chrono::steady_clock::now();
    StageContext c(options.pipeline, options.arguments[0], log, &stop_flag());
    const Result<Loaded> loaded = load_graph(c);
    if (!loaded.ok()) return fail(c, loaded.status());
    if (NameError error; !check.node().empty() && find_node(loaded->file->graph, check.node(), error) == kNoNode)
      return usage(log, cat("--while places: ", error.text()));
    const Result<std::vector<Whole>> wholes = wholes_of(c, *loaded);
    if (!wholes.ok()) return fail(c, wholes.status());
    const ScratchFolder values;
    if (Status status = record_apart(options, values.path()); !status.ok()) return fail(c, status);
    std::optional<ReduceGraph> made;
    Result<int> failures = 0;
    for (const Whole& whole : *wholes) {
      made.emplace(*whole.file, whole.request, check, values.path(), target_);
      failures = failures_of(*made);
      if (!failures.ok()) return fail(c, failures.status());
      if (*failures == kTimes) break;
    }
    if (*failures != kTimes) return say_no_failure(c, *failures, check);
    return reduce(options, c, *made, check, start);
  }

  int reduce(const Options& options, const StageContext& c, ReduceGraph& graph, const ReduceCheck& check,
             std::chrono::steady_clock::time_point start) const {
    const Shrink::Nodes all = graph.all();
    Shrink shrink(
        [&](const std::vector<Shrink::Nodes>& kept) {
          return stop_flag() ? Result<std::vector<char>>(Status(Code::kCancelled, "stopped")) : graph.fail(kept);
        },
        [&](Shrink::Nodes& kept) { graph.close(kept); }, static_cast<size_t>(flags_.jobs));
    const Result<Shrink::Nodes> smallest = shrink.smallest(all);
    if (!smallest.ok()) return fail(c, smallest.status());
    if (Status status = graph.simplify(*smallest); !status.ok()) return report_error(status, c.log);
    Reduced reduced = counts(graph.graph(), all, *smallest);
    reduced.tries = graph.tries() + shrink.counts().cached;
    reduced.cached = graph.cached() + shrink.counts().cached;
    ReduceCheck least = check;
    if (Status status = least.drop_flags(flags_.output, reduced.tries); !status.ok()) return fail(c, status);
    reduced.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    say(options, least, reduced);
    return 0;
  }

  /// A graph to begin with.
  struct Whole {
    std::shared_ptr<const GraphFile> file;
    RunRequest request;
  };

  /// With its functions inlined, as it runs; where that does not fail, with its calls.
  static Result<std::vector<Whole>> wholes_of(StageContext& c, const Loaded& loaded) {
    ASSIGN_OR_RETURN(const Runnable runnable, validate_run(c, loaded, Inputs::kOpen));
    std::vector<Whole> wholes{{runnable.file, runnable.request}};
    if (!has_functions(loaded)) return wholes;
    ASSIGN_OR_RETURN(RunRequest request, resolve_before_gradients(*loaded.file, c.options.run, c.found.problems));
    wholes.push_back({loaded.file, std::move(request)});
    return wholes;
  }

  /// Of the whole graph, in so many times.
  static constexpr int kTimes = 3;
  static Result<int> failures_of(ReduceGraph& graph) {
    int failures = 0;
    for (int i = 0; i < kTimes; ++i) {
      ASSIGN_OR_RETURN(const bool failed, graph.fails_anew(graph.all()));
      failures += failed;
    }
    return failures;
  }

  static int say_no_failure(const StageContext& c, int failures, const ReduceCheck& check) {
    if (failures == 0 && c.options.require_gpu) {
      if (const Result<DeviceSet> found = find_devices(c.options, c.log); !found.ok()) return fail(c, found.status());
    }
    return usage(c.log, failures == 0 ? cat("the whole graph does not fail: not ",
                                            check.what().substr(0, check.what().rfind(" as before")))
                                      : cat("the whole graph fails ", failures, " of ", kTimes,
                                            " times: such a check leads anywhere"));
  }

  static Reduced counts(const Graph& g, const Shrink::Nodes& all, const Shrink::Nodes& kept) {
    Reduced r;
    for (NodeId id = 0; id < g.num_nodes(); ++id) {
      r.nodes_before += all[id];
      r.nodes += kept[id];
      r.variables_before += all[id] && g.traits(id).variable;
      r.variables += kept[id] && g.traits(id).variable;
    }
    return r;
  }

  void say(const Options& options, const ReduceCheck& check, const Reduced& r) const {
    if (options.format == Format::kText) {
      print_lines(cat(r.nodes_before, " -> ", counted(r.nodes, "node"), ", ", r.variables_before, " -> ",
                      counted(r.variables, "variable"), ", ", r.tries, " tries (", r.cached, " cached), ",
                      time_text(r.seconds), ": ", flags_.output, "\n"));
      // In one line, whatever the terminal's width: to be copied.
      return print(
          printable(cat("  ", check.command_for(flags_.output), "        # ", check.what(), "\n"), LineEnds::kKept));
    }
    std::string out;
    JsonWriter json(out);
    write_schema(json.begin_object(), Document::kReduction)
        .member("file", options.arguments[0])
        .member("output", flags_.output);
    json.member("nodes_before", r.nodes_before).member("nodes", r.nodes).member("variables_before", r.variables_before);
    json.member("variables", r.variables)
        .member("tries", r.tries)
        .member("cached", r.cached)
        .member("seconds", r.seconds);
    json.member("command", check.command_for(flags_.output)).key("error").null().end_object();
    print(out + "\n");
  }

  ReduceFlags flags_;
  std::string target_;  // what flags_.output leads to
  const OptionSet* set_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> make_reduce_command() { return std::make_unique<ReduceCommand>(); }

}  // namespace emplace
