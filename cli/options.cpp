#include "cli/options.h"

#include <algorithm>

#include <limits>

#include "core/base/cat.h"
#include "core/base/units.h"
#include "core/fetch_filter.h"

namespace emplace {
namespace {

OptionSet::Setter set_size(int64_t& target) {
  return [&target](const std::string& text) -> Status {
    ASSIGN_OR_RETURN(target, parse_size(text));
    return target > 0 ? ok_status() : invalid_argument(cat("'", text, "' must be greater than 0"));
  };
}

/// A number alone could be bytes, or MiB as in TensorFlow's memory_limit.
OptionSet::Setter set_size_with_unit(int64_t& target) {
  return [&target](const std::string& text) -> Status {
    RETURN_IF_ERROR(set_size(target)(text));
    if (text.find_first_not_of("0123456789") != text.npos) return ok_status();
    return invalid_argument(cat("'", text, "' has no unit; TensorFlow's memory_limit counts MiB: write ", text, "MiB"));
  };
}

/// "3-5", "3".
Status set_steps(const std::string& text, std::pair<int64_t, int64_t>& steps) {
  const size_t dash = text.find('-');
  const std::string first = text.substr(0, dash), last = dash == std::string::npos ? first : text.substr(dash + 1);
  if (!set_integer(steps.first, 0)(first).ok() || !set_integer(steps.second, 0)(last).ok() ||
      steps.first > steps.second)
    return invalid_argument(cat("'", text, "' is not a range of steps; write FIRST-LAST, such as 3-5"));
  return ok_status();
}

/// "10s", "500ms", "2min"; a number alone is seconds.
OptionSet::Setter set_time(double& seconds) {
  return [&seconds](const std::string& text) -> Status {
    const size_t unit = text.find_first_not_of("0123456789.");
    const std::string name = unit == std::string::npos ? "s" : text.substr(unit);
    const double scale = name == "s" ? 1 : name == "ms" ? 1e-3 : name == "min" ? 60 : 0;
    if (scale == 0 || !set_number(seconds)(text.substr(0, unit)).ok() || seconds <= 0)
      return invalid_argument(cat("'", text, "' is not a time; write for instance 10s or 500ms"));
    seconds *= scale;
    return ok_status();
  };
}

/// "GPU=2".
Status set_device_count(std::map<std::string, int>& counts, const std::string& text) {
  auto equals = text.find('=');
  int64_t count = 0;
  if (equals == std::string::npos || equals == 0 || !set_integer(count, 0)(text.substr(equals + 1)).ok() ||
      count > std::numeric_limits<int>::max()) {
    return invalid_argument(cat("'", text, "' is not a device count; write TYPE=NUMBER, such as GPU=2"));
  }
  if (std::string type = text.substr(0, equals); type != "CPU" && type != "GPU") {
    return invalid_argument(cat("'", type, "' is not a type of device of a machine; there are CPU and GPU"));
  }
  counts[text.substr(0, equals)] = static_cast<int>(count);
  return ok_status();
}

/// "2" or "2:16GiB".
Status set_simulated_gpus(DeviceOptions& devices, const std::string& text) {
  auto colon = text.find(':');
  int64_t count = 0;
  RETURN_IF_ERROR(set_integer(count, 0)(text.substr(0, colon)));
  if (count > 1024) return invalid_argument(cat("'", text, "': at most 1024 GPUs can be simulated"));
  devices.simulate_gpus = static_cast<int>(count);
  if (colon == std::string::npos) return ok_status();
  const std::string memory = text.substr(colon + 1);
  if (!memory.empty() && memory.find_first_not_of("0123456789") == std::string::npos)
    return invalid_argument(cat("'", text, "' has a memory size without a unit; write for instance ", text, "GiB"));
  return set_size(devices.simulated_memory)(memory);
}

/// Of a flag with an optional word: --memory-report, --memory-report=json. Yes stands for the first choice; no takes
/// the flag back.
template <class T, class Target>
OptionSet::Setter set_optional_choice(Target& target, std::vector<std::pair<std::string_view, T>> choices) {
  OptionSet::Setter one_of_them = set_choice(target, choices);
  std::vector<std::string_view> words = one_of_them.words;
  OptionSet::Setter setter = [&target, first = choices.front().second, one_of_them](const std::string& text) -> Status {
    if (const auto truth = truth_of(text)) return target = *truth ? Target(first) : Target{}, ok_status();
    return one_of_them(text);
  };
  setter.words = std::move(words);
  return setter;
}

}  // namespace

OptionSet::Setter set_tolerance(double& target) {
  return [&target](const std::string& text) -> Status {
    RETURN_IF_ERROR(set_number(target)(text));
    return target >= 0 ? ok_status() : invalid_argument(cat("'", text, "' must be at least 0"));
  };
}

void declare_placing(OptionSet& set, PlaceFlags& placing) {
  set.flag("allow-soft-placement", "Run a node elsewhere if its device or kernel is missing",
           placing.allow_soft_placement);
  set.optional_value("log-device-placement", "stderr", "WHERE",
                     "Print TensorFlow's placement lines, to stderr, stdout or FILE",
                     {[&placing](const std::string& text) {
                        const auto truth = truth_of(text);
                        placing.log_device_placement = !truth ? text : *truth ? "stderr" : "";
                        return ok_status();
                      },
                      {"stderr", "stdout", "FILE"}});
  set.list("place", "REGEX=DEVICE", "Ask for a device for the nodes whose name matches; the last match wins",
           placing.rules.place);
  set.flag("place-gradients", "What --place says of a node is for its gradients, too", placing.rules.place_gradients);
  set.flag("clear-devices", "Drop all requested devices of the file", placing.rules.clear_devices);
  set.list("map-device", "FROM=TO", "Read requests for one device as requests for another", placing.rules.map_device);
  set.text("placement-in", "FILE", "Place as a saved placement says", placing.placement_in);
  set.text("placement-out", "FILE", "Save the placement", placing.placement_out);
  set.list("fail-on", "WHAT", "Fail (exit 4) on soft-placement or moved nodes", placing.gates.fail_on,
           {"soft-placement", "moved"});
  set.value("max-copies", "N", "Fail (exit 4) if more tensors cross devices", set_integer(placing.gates.max_copies, 0));
  set.value("max-copy-bytes", "SIZE", "Fail (exit 4) if more bytes cross devices: 64MiB",
            [&placing](const std::string& text) -> Status {
              ASSIGN_OR_RETURN(placing.gates.max_copy_bytes, parse_size(text));
              return ok_status();
            });
  set.list("min-on", "DEVICE=SHARE", "Fail (exit 4) if fewer nodes are on it: GPU=95%", placing.gates.min_on);
  set.value("policy", "RULE", "How to choose devices: tf (TensorFlow's rule) or cost (--auto latency)",
            {[&placing](const std::string& text) {
               if (text == "cost" && !placing.automatic.goal) placing.automatic.goal = autoplace::Goal::kLatency;
               return text == "tf" || text == "cost"
                          ? ok_status()
                          : invalid_argument(cat("'", text, "' is unknown; there are tf and cost"));
             },
             {"tf", "cost"}});
}

void declare_auto(OptionSet& set, AutoFlags& automatic) {
  set.value("auto", "GOAL", "Choose devices by measured costs, for the latency of a step or the throughput of many",
            set_choice<autoplace::Goal>(automatic.goal, {{"latency", autoplace::Goal::kLatency},
                                                         {"throughput", autoplace::Goal::kThroughput}}));
  set.list("costs", "FILE", "Costs that 'emplace bench --save-costs FILE' wrote; of several, the later wins",
           automatic.costs);
  set.value("time-limit", "TIME", "End the search of --auto after this long: 10s, 500ms",
            set_time(automatic.time_limit_s));
}

void declare_verify(OptionSet& set, AutoFlags& automatic) {
  set.flag("verify", "First measure the placement of --auto against TensorFlow's and one device; the fastest is taken",
           automatic.verify);
  set.more_words("fail-on", {"slower"});
}

void declare_functions(OptionSet& set, FunctionOptions& functions) {
  set.value("functions", "HOW",
            "What becomes of calls: auto (kept where the graph is placed, inlined in what runs), keep or inline",
            set_choice<FunctionMode>(
                functions.mode,
                {{"auto", FunctionMode::kAuto}, {"keep", FunctionMode::kKeep}, {"inline", FunctionMode::kInline}}));
  set.value("max-nodes", "N", "Fail (exit 3) if functions make a graph larger than this (default 16777216)",
            set_integer(functions.max_nodes, 1));
}

void declare_kernels(OptionSet& set, PlaceFlags& placing) {
  set.value("kernels", "WHICH", "tensorflow: TensorFlow's kernels; available: those emplace can execute",
            set_choice<bool>(placing.available_kernels_only, {{"tensorflow", false}, {"available", true}}));
}

void declare_devices(OptionSet& set, PipelineOptions& pipeline) {
  DeviceOptions& devices = pipeline.devices;
  set.value("devices", "SPEC", "Plan for described devices: 'CPU,2xGPU:16GiB', @devices.json",
            {[&devices](const std::string& text) {
               devices.devices = text;
               return text.empty() ? invalid_argument("'' describes no device; write for instance 'CPU,2xGPU:16GiB'")
                                   : ok_status();
             },
             {"@FILE"}});
  set.value("simulate-gpus", "N[:MEMORY]", "Simulate N GPUs with this much memory each (default 16GiB)",
            [&devices](const std::string& text) { return set_simulated_gpus(devices, text); });
  set.text("visible-devices", "LIST", "GPUs to use, in this order: 1,0", devices.visible_device_list);
  set.value("device-count", "TYPE=N", "Use at most N devices of a type",
            [&devices](const std::string& text) { return set_device_count(devices.device_count, text); });
  set.text("logical-gpus", "LIST", "Split GPUs, limits in MiB: '0:1024,1024;1:2048'", devices.logical_gpus);
  set.value("memory-fraction", "F", "Share of each GPU's memory to use, 0 < F <= 1",
            [&devices](const std::string& text) -> Status {
              RETURN_IF_ERROR(set_number(devices.memory_fraction)(text));
              bool in_range = devices.memory_fraction > 0 && devices.memory_fraction <= 1;
              return in_range ? ok_status()
                              : invalid_argument(cat("'", text, "' must be greater than 0 and at most 1"));
            });
  set.value("memory-limit", "SIZE", "Memory of each GPU to use: 4GiB", set_size_with_unit(devices.memory_limit));
  set.flag("require-gpu", "Fail (exit 5) where no GPU can be used, and say why", pipeline.require_gpu);
  set.switchable("allow-growth", "Take GPU memory on demand (default), or all of it at the start",
                 devices.allow_growth);
}

void declare_own_task(OptionSet& set, PipelineOptions& pipeline) {
  set.group("Devices");
  set.text("master", "TASK", "The task that a session talks to, of several in --devices: /job:worker/task:0",
           pipeline.devices.own_task);
}

void declare_request(OptionSet& set, RunOptions& run, Steps steps) {
  const bool train = steps == Steps::kOfTraining;
  set.list("fetch", "NAME",
           train ? "Print this tensor after the last step, of its batch: 'node' or 'node:output'"
                 : "Print this tensor: 'node', 'node:output' or 'gradients(LOSS,X)'; run: '*', those of --nodes, "
                   "--device, --op",
           run.fetch);
  set.switchable("colocate-gradients", "Place gradients with the nodes they belong to (default), or as any other nodes",
                 run.colocate_gradients);
  set.list("target", "NAME", train ? "Run this node in every step: the graph's own update" : "Run this node",
           run.target);
  set.text("signature", "KEY",
           "Of a SavedModel: feeds and fetches by this signature's keys (default: serving_default, or the only one)",
           run.signature);
  set.list("feed", "NAME=VALUE",
           "Feed a tensor: 3.5, '2x3xf32=1 2 3 4 5 6', @x.npy, @b.npz:key, @x.json, @-, random:SEED, zeros, ones",
           run.feed);
}

void declare_placed_run(OptionSet& set, PipelineOptions& pipeline, Steps steps) {
  set.group("Placement");
  declare_placing(set, pipeline.placing);
  declare_auto(set, pipeline.placing.automatic);
  declare_functions(set, pipeline.functions);
  declare_kernels(set, pipeline.placing);
  set.group("Devices");
  declare_devices(set, pipeline);
  set.group("Execution");
  declare_request(set, pipeline.run, steps);
}

void declare_outputs(OptionSet& set, OutputOptions& o) {
  set.list("save", "FILE", "Save the outputs: FILE.npy, FILE.npz or a folder", o.save);
  set.about("--expect", {"expect"});
  set.list("expect", "NAME=@FILE", "Compare an output with a reference (exit 7)", o.expect);
  set.value("rtol", "X", "Relative tolerance of --expect", set_tolerance(o.rtol));
  set.value("atol", "X", "Absolute tolerance of --expect", set_tolerance(o.atol));
  set.about("");
}

namespace {

/// How steps are bounded and watched.
void declare_watching(OptionSet& set, PipelineOptions& pipeline) {
  RunOptions& run = pipeline.run;
  set.flag("deterministic", "The same numbers every time: random ops without a seed, and whatever a GPU computes",
           run.deterministic);
  set.value("gpu-exec", "HOW", "Steps on GPUs: auto (recorded after the first), eager or graph",
            set_choice<GpuExec>(run.gpu_exec,
                                {{"auto", GpuExec::kAuto}, {"eager", GpuExec::kEager}, {"graph", GpuExec::kGraph}}));
  set.value(
      "gpu-fuse", "HOW",
      "Elementwise nodes on GPUs as one kernel: auto (where it saves more time than compiling takes), always or never",
      set_choice<GpuFuse>(run.gpu_fuse,
                          {{"auto", GpuFuse::kAuto}, {"always", GpuFuse::kAlways}, {"never", GpuFuse::kNever}}));
  set.value("matmul-precision", "P", "Products of float32 matrices on GPUs: highest (default) or tf32",
            set_choice<bool>(run.tf32, {{"highest", false}, {"tf32", true}}));
  set.flag("sync-every-node", "Wait for every node on a GPU, so that a failure names it", run.sync_every_node);
  set.value("log-style", "STYLE", "Of --log-device-placement: session, or eager: a line as each op starts",
            set_choice<bool>(pipeline.placing.log_eagerly, {{"session", false}, {"eager", true}}));
  set.optional_value("check-numerics", "stop", "report",
                     "Fail (exit 7) at the first node with NaN or infinite elements, or report all",
                     set_optional_choice<NumericsAction>(
                         run.check_numerics, {{"stop", NumericsAction::kStop}, {"report", NumericsAction::kReport}}));
}

}  // namespace

void declare_execution(OptionSet& set, PipelineOptions& pipeline, Steps steps) {
  const bool train = steps == Steps::kOfTraining;
  RunOptions& run = pipeline.run;
  set.value("steps", "N",
            train ? "Steps to train (default: the graph file's, else one epoch)" : "Steps to run (default 1)",
            set_integer(run.steps, 1));
  set.value("warmup", "N", train ? "Steps to leave out of the times" : "Steps to run before those",
            set_integer(run.warmup, 0));
  set.value(
      "seed", "N",
      train ? "Seed of the order of samples and of random ops that have none" : "Seed of random ops that have none",
      set_integer(run.seed, 0));
  set.value("inter-op-threads", "N", "Nodes that run beside each other (0: one per core)",
            set_integer(run.inter_op_threads, 0));
  set.value("intra-op-threads", "N", "Threads of one op (0: one per core)", set_integer(run.intra_op_threads, 0));
  set.text("restore", train ? "latest|FILE" : "DIR|FILE",
           train ? "Go on from a checkpoint" : "Use the variables of a checkpoint", run.restore);
  declare_watching(set, pipeline);
}

void declare_trace(OptionSet& set, PipelineOptions& pipeline) {
  RunOptions& run = pipeline.run;
  set.about("--trace", {"trace"});
  set.text("trace", "FILE", "Write a Chrome trace: what ran when, on which thread, with its copies", run.trace);
  set.value("trace-steps", "FIRST-LAST", "Of these steps only, from 0 on: 3-5, or 3",
            [&run](const std::string& text) { return set_steps(text, run.trace_steps); });
  set.about("");
}

void declare_in_flight(OptionSet& set, PipelineOptions& pipeline) {
  static constexpr int64_t kMost = 256;
  set.value("in-flight", "K", "Steps under way at a time, each with memory of its own; results keep their order",
            [&run = pipeline.run](const std::string& text) -> Status {
              RETURN_IF_ERROR(set_integer(run.in_flight, 1)(text));
              return run.in_flight <= kMost ? ok_status() : invalid_argument(cat("'", text, "': at most ", kMost));
            });
}

void declare_memory_report(OptionSet& set, Options& o) {
  set.optional_value("memory-report", "text", "json", "Memory of each device and what was live at its peak",
                     set_optional_choice<Format>(o.memory_report, {{"text", Format::kText}, {"json", Format::kJson}}));
}

void declare_step_report(OptionSet& set, Options& o) {
  set.optional_value(
      "step-report", "text", "json",
      "Where the time of steps went: computing, copies, other tasks, gradients that meet",
      [&o](const std::string& text) {
        o.pipeline.run.step_report = true;
        return set_optional_choice<Format>(o.step_report, {{"text", Format::kText}, {"json", Format::kJson}})(text);
      });
}

void declare_filter(OptionSet& set, NodeFilter& filter) {
  set.text("nodes", "REGEX", "Only nodes whose whole name matches", filter.nodes);
  set.text("device", "DEVICE", "Only nodes on it: GPU:0, or GPU for all of that type", filter.device);
  set.text("op", "OP", "Only nodes of this op", filter.op);
}

void declare_watched(OptionSet& set, NodeFilter& filter, Watched what) {
  set.text("nodes", "REGEX",
           what == Watched::kTrace ? "In --trace: only nodes whose whole name matches"
                                   : "In --trace, and as --fetch '*': only nodes whose whole name matches",
           filter.nodes);
  set.text("device", "DEVICE", "Likewise: only nodes on it: GPU:0, or GPU for all of that type", filter.device);
  set.text("op", "OP", "Likewise: only nodes of this op", filter.op);
}

Status check_watched(const RunOptions& run) {
  if (run.watched.any() && run.trace.empty() && !fetches_by_filter(run))
    return invalid_argument(
        "--nodes, --device and --op are of --trace FILE and of --fetch '*'; to run nodes on a device: --place "
        "REGEX=DEVICE");
  return run.watched.check();
}

void declare_loading(OptionSet& set, PipelineOptions& pipeline) {
  set.value("host-memory-limit", "SIZE",
            "Host memory of graph, data, feeds, constants and tensors (default: what is free, less a margin)",
            set_size(pipeline.host_memory_limit));
  set.value("timeout", "SECONDS", "Give up after this long (exit 8)",
            [&run = pipeline.run](const std::string& text) -> Status {
              RETURN_IF_ERROR(set_number(run.timeout_s)(text));
              return run.timeout_s > 0 ? ok_status() : invalid_argument(cat("'", text, "' must be greater than 0"));
            });
  set.list("allow-path", "DIR", "A folder outside the graph's own that it may read from", pipeline.load.allowed_paths);
  set.value("input-format", "FORMAT",
            "What the file is, in place of a look: json, graphdef, metagraph, savedmodel or onnx",
            {[&pipeline](const std::string& text) {
               pipeline.input_format = parse_graph_format(text);
               return pipeline.input_format ? ok_status()
                                            : invalid_argument("wanted json, graphdef, metagraph, savedmodel or onnx");
             },
             {"json", "graphdef", "metagraph", "savedmodel", "onnx"}});
  set.value("tags", "TAG,TAG", "Which graph of a SavedModel (default: serve, or the only one)",
            [&pipeline](const std::string& text) {
              pipeline.tags.clear();
              for (size_t begin = 0; begin <= text.size();) {
                const size_t end = std::min(text.find(',', begin), text.size());
                pipeline.tags.push_back(text.substr(begin, end - begin));
                begin = end + 1;
              }
              return ok_status();
            });
  std::vector<std::pair<std::string_view, Stage>> stages;
  for (Stage stage : kStages) stages.emplace_back(stage_name(stage), stage);
  set.value("dump", "STAGE", "Print what a stage made", set_choice<Stage>(pipeline.dump, std::move(stages)));
}

void declare_keep_going(OptionSet& set, Options& o) {
  set.flag("keep-going", "Go on with the next file after a failure", o.keep_going);
}

void declare_format(OptionSet& set, Options& o, std::span<const Format> formats) {
  std::vector<std::pair<std::string_view, Format>> choices;
  std::string forms;
  for (Format format : formats) {
    choices.emplace_back(format_name(format), format);
    append(forms, forms.empty() ? "" : ", ", format_name(format));
  }
  set.value("format", "FORMAT", cat("Form of the output: ", forms), set_choice<Format>(o.format, std::move(choices)));
}

std::vector<std::pair<std::string_view, ColorMode>> color_modes() {
  return {{"auto", ColorMode::kAuto}, {"always", ColorMode::kAlways}, {"never", ColorMode::kNever}};
}

void declare_talk(OptionSet& set, TalkOptions& o) {
  set.flag("quiet,-q", "Errors only", o.quiet);
  set.flag("verbose,-v", "Times of the stages, and where each option came from", o.verbose);
  set.value("log-level", "LEVEL", "debug, info, warning, error or off",
            set_choice<LogLevel>(o.level, {{"debug", LogLevel::kDebug},
                                           {"info", LogLevel::kInfo},
                                           {"warning", LogLevel::kWarning},
                                           {"error", LogLevel::kError},
                                           {"off", LogLevel::kOff}}));
  set.text("log-file", "FILE", "Append what is said beside results to a file", o.file);
  const std::vector<std::string> names = set.names();
  if (std::find(names.begin(), names.end(), "color") ==
      names.end())  // draw has a --color of its own, which takes these too
    set.value("color", "WHEN", "auto, always or never", set_choice<ColorMode>(o.color, color_modes()));
  set.flag("dump-config", "Print the given options as a TOML file and stop", o.dump_config);
}

Status set_up_log(const TalkOptions& o, Log& log) {
  if (o.level) {
    log.set_level(*o.level);
  } else if (o.quiet) {
    log.set_level(LogLevel::kError);
  } else if (o.verbose) {
    log.set_level(LogLevel::kDebug);
  }
  if (!o.file.empty()) RETURN_IF_ERROR(log.open(o.file));
  log.set_color(o.color);
  return ok_status();
}

std::string config_text(const OptionSet& set) {
  std::string out;
  auto quote = [](const std::string& text) {
    return text.find('"') == std::string::npos ? cat('"', text, '"') : cat("'", text, "'");
  };
  for (const OptionSource& option : set.sources()) {
    if (option.name == "config" || option.name == "dump-config") continue;
    append(out, "# ", option.source, "\n", option.name, " = ");
    if (option.values.size() == 1) {
      append(out, quote(option.values.front()), "\n");
      continue;
    }
    std::string_view comma = "[";
    for (const std::string& value : option.values) append(out, comma, quote(value)), comma = ", ";
    out += "]\n";
  }
  return out;
}

}  // namespace emplace
