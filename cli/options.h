/// The options that several subcommands share, as plain values, and the groups of flags that set them. What only one
/// subcommand takes is in its own file.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/option_set.h"
#include "core/base/log.h"
#include "core/pipeline_options.h"
#include "core/place/node_filter.h"
#include "core/report/format.h"

namespace emplace {

/// How emplace talks beside results.
struct TalkOptions {
  bool quiet = false, verbose = false, dump_config = false;
  std::optional<LogLevel> level;  // --log-level
  std::string file;
  ColorMode color = ColorMode::kAuto;
};

/// What becomes of fetched tensors beside being printed.
struct OutputOptions {
  std::vector<std::string> save, expect;
  double rtol = 1e-5, atol = 1e-8;  // NumPy's allclose
};

struct Options {
  std::vector<std::string> arguments;  // graph files, nodes, an op: what stands there without a flag
  PipelineOptions pipeline;
  OutputOptions outputs;
  Format format = Format::kText;
  std::optional<Format> memory_report;  // kText or kJson
  std::optional<Format> step_report;    // likewise
  bool keep_going = false;
  bool predicts = false;     // the command reads --costs without --auto, too
  bool measures = false;     // it takes --fail-on slower
  bool only_places = false;  // what a run would read and write has no effect
  TalkOptions talk;
};

// The groups. Each is declared under the heading that OptionSet::group() was given last. Some texts differ between a
// command that runs steps and one that trains.

void declare_placing(OptionSet& set, PlaceFlags& placing);
/// --auto and what it takes.
void declare_auto(OptionSet& set, AutoFlags& automatic);
/// --verify, of commands that run steps of one placement.
void declare_verify(OptionSet& set, AutoFlags& automatic);
/// --functions, --max-nodes.
void declare_functions(OptionSet& set, FunctionOptions& functions);
/// --kernels.
void declare_kernels(OptionSet& set, PlaceFlags& placing);
void declare_devices(OptionSet& set, PipelineOptions& pipeline);
/// --master of a plan: a task of the described devices.
void declare_own_task(OptionSet& set, PipelineOptions& pipeline);
/// --fetch, --target, --feed: what a run is about. place plans its memory, and its devices.
void declare_request(OptionSet& set, RunOptions& run, Steps steps = Steps::kOfRun);
/// The groups Placement, Devices and Execution of a command that places a graph, with the flags above; who has more
/// flags about execution goes on with them.
void declare_placed_run(OptionSet& set, PipelineOptions& pipeline, Steps steps = Steps::kOfRun);
void declare_memory_report(OptionSet& set, Options& options);
void declare_step_report(OptionSet& set, Options& options);
/// What every execution takes, one step or many: how many, their seed, threads, bounds, and how they are watched.
void declare_execution(OptionSet& set, PipelineOptions& pipeline, Steps steps = Steps::kOfRun);
/// --trace and its steps.
void declare_trace(OptionSet& set, PipelineOptions& pipeline);
/// --in-flight, of `run`.
void declare_in_flight(OptionSet& set, PipelineOptions& pipeline);
/// --save and --expect.
void declare_outputs(OptionSet& set, OutputOptions& outputs);
/// What every command takes that reads a graph file.
void declare_loading(OptionSet& set, PipelineOptions& pipeline);
void declare_keep_going(OptionSet& set, Options& options);
void declare_format(OptionSet& set, Options& options, std::span<const Format> formats);
/// Under the heading "Talk"; main declares it for every command.
void declare_talk(OptionSet& set, TalkOptions& talk);
/// The values of its --color.
std::vector<std::pair<std::string_view, ColorMode>> color_modes();

/// What a listing of nodes shows.
void declare_filter(OptionSet& set, NodeFilter& filter);
/// The same of what is seen of a run.
enum class Watched : uint8_t { kTrace, kTraceAndFetches };
void declare_watched(OptionSet& set, NodeFilter& filter, Watched what = Watched::kTrace);
/// InvalidArgument: the filter is malformed, or there is nothing that it would be of.
Status check_watched(const RunOptions& run);
inline constexpr std::string_view kGraphsHelp = "GRAPH '-' is standard input. Several files are taken in order.";
/// The headings under which place and explain accept what only a run uses: its command line can be placed as it is.
inline constexpr std::string_view kOfARun = "Of a run: accepted, without effect on a placement";

/// A number that is not negative.
OptionSet::Setter set_tolerance(double& target);

/// Makes the log speak as the options say.
Status set_up_log(const TalkOptions& talk, Log& log);

/// The given options as a TOML file that --config reads.
std::string config_text(const OptionSet& set);

}  // namespace emplace
