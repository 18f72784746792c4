// emplace compare: a graph on two configurations, node by node.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

#include "cli/command.h"
#include "cli/compare_sides.h"
#include "core/base/cat.h"
#include "core/base/heap_limit.h"
#include "core/base/printable.h"
#include "core/device/device_text.h"
#include "core/formats/graph_cut.h"
#include "core/report/compare/compare_report.h"
#include "core/report/compare/lockstep.h"
#include "core/tensor/npy.h"

namespace emplace {
namespace {

/// Results are not as wanted.
constexpr int kNotTheSame = 7;
constexpr std::string_view kOnCpu = "--place .*=CPU:0";

struct CompareFlags {
  std::string a, b;
  bool a_given = false, flow = false, all = false, as_it_runs = false;
  std::string save = "diverge";
  int64_t top = 20;
};

void declare_compared(OptionSet& set, Options& o) {
  o.pipeline.placing.available_kernels_only = true;
  declare_placed_run(set, o.pipeline);
  declare_execution(set, o.pipeline);
  set.group("Files and output");
  declare_loading(set, o.pipeline);
}

bool makes_tensors(const Graph& g, NodeId node) {
  if (g.traits(node).variable) return true;
  for (uint32_t slot = 0; slot < g.num_outputs(node); ++slot) {
    if (!is_handle(g.output_type({node, slot}))) return true;
  }
  return false;
}

int64_t nodes_to_compare(const ComparedRun& run) {
  const std::vector<char> needed = needed_nodes(run.graph(), run.runnable->request);
  int64_t nodes = 0;
  for (NodeId node = 0; node < run.graph().num_nodes(); ++node)
    nodes += needed[node] && makes_tensors(run.graph(), node);
  return nodes;
}

/// What variables hold after the last step.
Status compare_state(const ComparedRun& a, const ComparedRun& b, const Tolerance& tolerance, NodeDifferences& found) {
  const Graph& g = a.graph();
  for (NodeId node = 0; node < g.num_nodes(); ++node) {
    const NodeId same = b.graph().find(g.name(node));
    if (!g.traits(node).variable || same == kNoNode || !b.graph().traits(same).variable) continue;
    ASSIGN_OR_RETURN(const Tensor x, a.planned->session->variable(node));
    ASSIGN_OR_RETURN(const Tensor y, b.planned->session->variable(same));
    if (!x.valid() && !y.valid()) continue;
    OutputDifference state{{node, 0}};
    state.is_state = true;
    state.difference = tensor_difference(x, y, tolerance);
    found.add(g, std::move(state));
  }
  return ok_status();
}

/// What was fetched, of sides of which one ran as it does by itself.
void compare_outputs(const ComparedRun& a, const ComparedRun& b, const Tolerance& tolerance, NodeDifferences& found) {
  for (size_t i = 0; i < std::min(a.outputs.size(), b.outputs.size()); ++i) {
    OutputDifference output{a.runnable->request.fetches[i].tensor};
    output.difference = tensor_difference(a.outputs[i], b.outputs[i], tolerance);
    found.add(a.graph(), std::move(output));
  }
}

std::vector<std::string> devices_by_node(const ComparedRun& a, const ComparedRun& b) {
  std::vector<std::string> names(a.graph().num_nodes());
  for (NodeId node = 0; node < names.size(); ++node) {
    const NodeId same = b.graph().find(a.graph().name(node));
    if (same != kNoNode)
      names[node] = short_device_name(*b.partitioned->devices, b.partitioned->placement->device(same));
  }
  return names;
}

class CompareCommand final : public Command {
 public:
  void declare(OptionSet& set, Options& o) override {
    set.positional(
        "GRAPH", "Runs GRAPH twice from the same feeds, seeds and variables. Exit code: 0 all within tolerance, 7 not.",
        o.arguments);
    set.group("Comparison");
    set.value("a", "FLAGS", "Flags of side A only (default: '--place .*=CPU:0', all on the CPU)",
              [this](const std::string& text) { return flags_.a = text, flags_.a_given = true, ok_status(); });
    set.value("b", "FLAGS", "Flags of side B only (default: none, as placed); '@FILE.npz': that run's outputs",
              {[this](const std::string& text) { return flags_.b = text, ok_status(); }, {"@FILE"}});
    set.flag("flow", "Errors flow: else every node of B gets A's inputs, and what is found is its own error",
             flags_.flow);
    set.flag("all", "Go on after the first node that is out of tolerance; list all, the furthest apart first",
             flags_.all);
    set.flag("as-it-runs", "A runs node by node, B fused and in parallel, as by itself; what is fetched is compared",
             flags_.as_it_runs);
    set.text("save-to", "DIR", "Where a graph with the first such node alone goes (default diverge)", flags_.save);
    set.flag("no-save", "Write no such graph", no_save_);
    set.value("top", "N", "List at most N nodes (20)", set_integer(flags_.top, 1));
    set.value("rtol", "R", "Allowed difference, as a share of A's size (1e-05)", set_tolerance(o.outputs.rtol));
    set.value("atol", "A", "And the allowed difference beside (1e-08)", set_tolerance(o.outputs.atol));
    declare_compared(set, o);
    declare_format(set, o, std::array{Format::kText, Format::kJson});
    set_ = &set;
  }

  int run(const Options& options, Log& log) override {
    if (options.arguments.size() != 1 || options.arguments[0] == "-")
      return usage(log, "wanted one graph file: emplace compare GRAPH --a FLAGS --b FLAGS");
    if (!options.pipeline.placing.placement_out.empty())
      return usage(log, "--placement-out takes one placement, and compare makes two: it goes into --a or --b");
    tolerance_ = {options.outputs.rtol, options.outputs.atol};
    if (no_save_) flags_.save.clear();
    if (const Status status = check_save(options); !status.ok()) return usage(log, status);
    const HeapLimit limit;
    return flags_.b.starts_with('@') ? against_arrays(options, log) : against_run(options, log);
  }

 private:
  std::vector<OptionSource> common() const {
    constexpr std::string_view kOwn[] = {"a",       "b",         "flow",     "all",   "as-it-runs", "save-to",
                                         "no-save", "top",       "rtol",     "atol",  "format",     "quiet",
                                         "verbose", "log-level", "log-file", "color", "config",     "dump-config"};
    std::vector<OptionSource> out;
    for (const OptionSource& option : set_->sources()) {
      if (std::find(std::begin(kOwn), std::end(kOwn), option.name) == std::end(kOwn)) out.push_back(option);
    }
    return out;
  }

  std::string default_a() const { return flags_.a_given || flags_.b.starts_with('@') ? flags_.a : std::string(kOnCpu); }

  /// 0, or the exit code of what failed, which was told.
  int read_flags(ComparedRun& run, const char* side, const Options& options, const std::string& flags, Log& log) const {
    Result<ComparedRun> read = read_compared_run(options.arguments[0], flags, common(), declare_compared);
    if (!read.ok()) return usage(log, read.status().with_context(side));
    run = read.take();
    return 0;
  }

  static int place_side(ComparedRun& run, Log& log) {
    const Status placed = place_compared_run(run, log);
    return placed.ok() ? 0 : fail(*run.context, placed);
  }

  CompareReport report_of(const Options& options, const ComparedRun& a) const {
    CompareReport report;
    report.path = options.arguments[0];
    report.a = default_a();
    report.b = flags_.b;
    report.tolerance = tolerance_;
    report.flow = flags_.flow;
    report.all = flags_.all;
    report.top = static_cast<size_t>(flags_.top);
    report.graph = &a.graph();
    report.nodes = nodes_to_compare(a);
    return report;
  }

  int say(const Options& options, CompareReport& report, Log& log) const {
    if (report.found->compared == 0)
      return usage(log, report.left_over.empty()
                            ? "no node was compared: both sides have none in common"
                            : cat("no node was compared: no node makes ", report.left_over.front()));
    report.nodes = std::max(report.nodes, report.found->compared);
    options.format == Format::kJson ? print(compare_json(report)) : print_lines(compare_text(report));
    return report.found->different.empty() ? 0 : kNotTheSame;
  }

  int against_arrays(const Options& options, Log& log) const {
    const auto arrays = read_npz(flags_.b.substr(1));
    if (!arrays.ok()) return usage(log, arrays.status().with_context("--b"));
    ComparedRun a;
    if (const int code = read_flags(a, "--a", options, flags_.a, log); code != 0) return code;
    if (const int code = place_side(a, log); code != 0) return code;
    AgainstArrays observer(a.graph(), *arrays, tolerance_, flags_.all);
    const Status ran = execute_compared_run(a, &observer);
    const bool stopped = ran.code() == Code::kCancelled && !observer.found().different.empty();
    if (!ran.ok() && !stopped) return fail(*a.context, ran);
    CompareReport report = report_of(options, a);
    report.found = &observer.found();
    if (!stopped) report.left_over = observer.left_over();
    return say(options, report, log);
  }

  int against_run(const Options& options, Log& log) const {
    ComparedRun a, b;
    if (int code = read_flags(a, "--a", options, default_a(), log); code != 0) return code;
    if (int code = read_flags(b, "--b", options, flags_.b, log); code != 0) return code;
    if (int code = place_side(a, log); code != 0) return code;
    if (int code = place_side(b, log); code != 0) return code;
    Lockstep lockstep(a.graph(), b.graph(), {tolerance_, flags_.flow, flags_.all});
    if (int code = run_both(a, b, lockstep); code != 0) return code;
    NodeDifferences& found = lockstep.found();
    if (!lockstep.stopped()) {
      if (flags_.as_it_runs) compare_outputs(a, b, tolerance_, found);
      if (Status read = compare_state(a, b, tolerance_, found); !read.ok()) return report_error(read, log);
    }
    CompareReport report = report_of(options, a);
    report.devices = b.partitioned->devices.get();
    report.device_of_b = devices_by_node(a, b);
    report.found = &found;
    const int saved = save(options, a, report, log);  // a failure of it does not take the comparison along
    const int code = say(options, report, log);
    return saved != 0 ? saved : code;
  }

  int run_both(ComparedRun& a, ComparedRun& b, Lockstep& lockstep) const {
    const HeapLimit no_limit = HeapLimit::none();  // a side that ended at once would leave the other's thread behind
    Status ran_b;
    std::thread other([&] {
      ran_b = execute_compared_run(b, flags_.as_it_runs ? nullptr : &lockstep.observer_b());
      lockstep.ended_b();
    });
    RunObserver looks_on;  // before it, nothing is fused
    const Status ran_a = execute_compared_run(a, flags_.as_it_runs ? &looks_on : &lockstep.observer_a());
    lockstep.ended_a();
    other.join();
    if (lockstep.stopped()) return 0;
    if (!ran_a.ok()) return fail(*a.context, ran_a);
    return ran_b.ok() ? 0 : fail(*b.context, ran_b);
  }

  /// A folder that cannot be is told before anything runs.
  Status check_save(const Options& options) const {
    if (flags_.save.empty() || !options.pipeline.given.contains("save-to")) return ok_status();
    if (flags_.b.starts_with('@'))
      return invalid_argument("--save-to: one node alone is saved of two runs, and --b @FILE is none");
    std::error_code none;
    std::filesystem::path there = flags_.save;
    while (!std::filesystem::exists(there, none) && there.has_parent_path() && there != there.parent_path())
      there = there.parent_path();
    if (std::filesystem::exists(there, none) && !std::filesystem::is_directory(there, none))
      return invalid_argument(
          cat("--save-to: '", printable(there.string()), "' is no folder; name one, which may be a new one"));
    if (std::filesystem::exists(there, none) && ::access(there.c_str(), W_OK) != 0)
      return invalid_argument(cat("--save-to: cannot write to '", printable(there.string()), "': ", strerror(errno)));
    return ok_status();
  }

  /// The first node that is different, by itself.
  int save(const Options& options, ComparedRun& a, CompareReport& report, Log& log) const {
    if (flags_.save.empty() || report.found->different.empty()) return 0;
    const OutputDifference& first = report.found->different.front();
    if (first.is_state || first.time > 0) return 0;
    Result<std::string> saved = save_reproduction(a, first.tensor.node, flags_.save, options.pipeline.files, log);
    if (!saved.ok()) return report_error(saved.status(), log);
    report.saved = *saved;
    report.saved_command = cat("emplace compare ", *saved);
    const auto add = [&](std::string_view name, const std::string& value) {
      append(report.saved_command, " --", name, " '", value, "'");
    };
    for (const OptionSource& option : common()) {
      for (const std::string& value : option.values) {
        if (option.name != "fetch" && option.name != "feed" && option.name != "target" &&
            option.source == "command line")
          append(report.saved_command, " '--", option.name, "=", value, "'");
      }
    }
    if (flags_.a_given) add("a", flags_.a);
    if (!flags_.b.empty()) add("b", flags_.b);
    if (options.outputs.rtol != OutputOptions().rtol) append(report.saved_command, " --rtol ", options.outputs.rtol);
    if (options.outputs.atol != OutputOptions().atol) append(report.saved_command, " --atol ", options.outputs.atol);
    return 0;
  }

  CompareFlags flags_;
  Tolerance tolerance_;
  bool no_save_ = false;
  const OptionSet* set_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> make_compare_command() { return std::make_unique<CompareCommand>(); }

}  // namespace emplace
