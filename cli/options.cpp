#include "cli/options.h"

#include <charconv>
#include <limits>

#include "core/base/cat.h"
#include "core/base/units.h"
#include "core/pipeline.h"

namespace emplace {
namespace {

constexpr std::string_view kLevels[] = {"debug", "info", "warning", "error", "off"};

OptionSet::Setter set_size(int64_t& target) {
  return [&target](const std::string& text) -> Status {
    ASSIGN_OR_RETURN(target, parse_size(text));
    return target > 0 ? ok_status() : invalid_argument(cat("'", text, "' must be greater than 0"));
  };
}

/// "GPU=2".
Status set_device_count(std::map<std::string, int>& counts, const std::string& text) {
  auto equals = text.find('=');
  int64_t count = 0;
  if (equals == std::string::npos || equals == 0 || !set_integer(count, 0)(text.substr(equals + 1)).ok() ||
      count > std::numeric_limits<int>::max()) {
    return invalid_argument(cat("'", text, "' is no device count; write TYPE=NUMBER, such as GPU=2"));
  }
  if (std::string type = text.substr(0, equals); type != "CPU" && type != "GPU") {
    return invalid_argument(cat("'", type, "' is no type of device of a machine; there are CPU and GPU"));
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
  return colon == std::string::npos ? ok_status() : set_size(devices.simulated_memory)(text.substr(colon + 1));
}

Status set_stage(int& dump, const std::string& text) {
  std::optional<Stage> stage = parse_stage(text);
  if (!stage) return invalid_argument(cat("'", text, "' is none of load, validate, place, partition, plan, execute"));
  dump = static_cast<int>(*stage);
  return ok_status();
}

/// A flag with an optional word: --memory-report, --memory-report=json; =false takes it back.
OptionSet::Setter set_word(std::string& target, std::vector<std::string> words) {
  return [&target, words = std::move(words)](const std::string& text) -> Status {
    if (text == "false") return target.clear(), ok_status();
    std::string known;
    for (const std::string& word : words) {
      if (text == word || text == "true") return target = text == "true" ? words.front() : text, ok_status();
      append(known, known.empty() ? "" : ", ", word);
    }
    return invalid_argument(cat("'", text, "' is none of ", known));
  };
}

OptionSet::Setter set_tolerance(double& target) {
  return [&target](const std::string& text) -> Status {
    RETURN_IF_ERROR(set_number(target)(text));
    return target >= 0 ? ok_status() : invalid_argument(cat("'", text, "' must be at least 0"));
  };
}

OptionSet::Setter set_format(std::string& target, std::vector<std::string_view> words) {
  return [&target, words = std::move(words)](const std::string& text) -> Status {
    int index = 0;
    RETURN_IF_ERROR(set_choice(index, words)(text));
    target = words[static_cast<size_t>(index)];
    return ok_status();
  };
}

void declare_placing(OptionSet& set, Options& o) {
  PlacingOptions& placing = o.pipeline.placing;
  set.flag("allow-soft-placement", "Run a node elsewhere if its device or kernel is missing",
           placing.allow_soft_placement);
  set.optional_value("log-device-placement", "stderr", "WHERE",
                     "Print TensorFlow's placement lines, to stderr, stdout or FILE",
                     [&placing](const std::string& text) {
                       placing.log_device_placement = text == "true" ? "stderr" : text == "false" ? "" : text;
                       return ok_status();
                     });
  set.list("place", "REGEX=DEVICE", "Ask for a device for the nodes whose name matches; the last match wins",
           placing.rules.place);
  set.flag("clear-devices", "Drop all requested devices of the file", placing.rules.clear_devices);
  set.list("map-device", "FROM=TO", "Read requests for one device as requests for another", placing.rules.map_device);
  set.text("placement-in", "FILE", "Place as a saved placement says", placing.placement_in);
  set.text("placement-out", "FILE", "Save the placement", placing.placement_out);
  set.list("fail-on", "WHAT", "Fail (exit 4) on soft-placement or moved nodes", placing.gates.fail_on);
  set.value("max-copies", "N", "Fail (exit 4) if more tensors cross devices", set_integer(placing.gates.max_copies, 0));
  set.list("min-on", "DEVICE=SHARE", "Fail (exit 4) if fewer nodes are on it: GPU=95%", placing.gates.min_on);
  set.value("policy", "tf", "How to choose devices: TensorFlow's rule", [](const std::string& text) {
    return text == "tf" ? ok_status() : invalid_argument(cat("'", text, "' is unknown; there is tf"));
  });
}

void declare_kernels(OptionSet& set, PlacingOptions& placing) {
  set.value("kernels", "WHICH", "tensorflow: TensorFlow's kernels; available: those emplace can execute",
            [&placing](const std::string& text) {
              int index = 0;
              RETURN_IF_ERROR(set_choice(index, {"tensorflow", "available"})(text));
              return placing.available_kernels_only = index == 1, ok_status();
            });
}

void declare_devices(OptionSet& set, Options& o) {
  DeviceOptions& devices = o.pipeline.devices;
  set.value("devices", "SPEC", "Plan for described devices: 'CPU,2xGPU:16GiB', @devices.json",
            [&devices](const std::string& text) {
              devices.devices = text;
              return text.empty() ? invalid_argument("'' describes no device; write for instance 'CPU,2xGPU:16GiB'")
                                  : ok_status();
            });
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
  set.value("memory-limit", "SIZE", "Memory of each GPU to use: 4GiB", set_size(devices.memory_limit));
  set.switchable("allow-growth", "Take GPU memory on demand (default), or all of it at the start",
                 devices.allow_growth);
}

/// What a run is about: place plans its memory, and its devices.
void declare_request(OptionSet& set, RunOptions& run, bool train) {
  set.list("fetch", "NAME",
           train ? "Print this tensor after the last step, of its batch: 'node' or 'node:output'"
                 : "Print this tensor: 'node', 'node:output' or 'gradients(LOSS,X)'",
           run.fetch);
  set.switchable("colocate-gradients", "Place gradients with the nodes they belong to (default), or as any other nodes",
                 run.colocate_gradients);
}

void declare_targets(OptionSet& set, RunOptions& run, bool train) {
  set.list("target", "NAME", train ? "Run this node in every step: the graph's own update" : "Run this node",
           run.target);
  set.list("feed", "NAME=VALUE",
           "Feed a tensor: 3.5, '2x3xf32=1 2 3 4 5 6', @x.npy, @b.npz:key, @x.json, @-, random:SEED, zeros, ones",
           run.feed);
}

/// What becomes of fetched tensors beside being printed.
void declare_outputs(OptionSet& set, Options& o) {
  set.list("save", "FILE", "Save the outputs: FILE.npy, FILE.npz or a folder", o.save);
  set.list("expect", "NAME=@FILE", "Compare an output with a reference (exit 7)", o.expect);
  set.value("rtol", "X", "Relative tolerance of --expect", set_tolerance(o.rtol));
  set.value("atol", "X", "Absolute tolerance of --expect", set_tolerance(o.atol));
}

/// How steps are bounded and watched.
void declare_watching(OptionSet& set, Options& o) {
  RunOptions& run = o.pipeline.run;
  set.flag("deterministic", "The same numbers every time: random ops without a seed, and whatever a GPU computes",
           run.deterministic);
  set.value("gpu-exec", "HOW", "Steps on GPUs: auto (recorded after the first), eager or graph",
            [&run](const std::string& text) {
              return set_choice(run.gpu_exec, {"auto", "eager", "graph"})(text);
            });
  set.value(
      "gpu-fuse", "HOW",
      "Elementwise nodes on GPUs as one kernel: auto (where it saves more time than compiling takes), always or never",
      [&run](const std::string& text) {
        return set_choice(run.gpu_fuse, {"auto", "always", "never"})(text);
      });
  set.value("matmul-precision", "P", "Products of float32 matrices on GPUs: highest (default) or tf32",
            [&run](const std::string& text) -> Status {
              int index = 0;
              RETURN_IF_ERROR(set_choice(index, {"highest", "tf32"})(text));
              return run.tf32 = index == 1, ok_status();
            });
  set.flag("sync-every-node", "Wait for every node on a GPU, so that a failure names it", run.sync_every_node);
  set.value("timeout", "SECONDS", "Give up after this long (exit 8)", [&run](const std::string& text) -> Status {
    RETURN_IF_ERROR(set_number(run.timeout_s)(text));
    return run.timeout_s > 0 ? ok_status() : invalid_argument(cat("'", text, "' must be greater than 0"));
  });
  set.value("log-style", "STYLE", "Of --log-device-placement: session, or eager: a line as each op starts",
            [&o](const std::string& text) {
              int index = 0;
              RETURN_IF_ERROR(set_choice(index, {"session", "eager"})(text));
              return o.pipeline.placing.log_eagerly = index == 1, ok_status();
            });
  set.optional_value("check-numerics", "stop", "report",
                     "Fail (exit 7) at the first node with NaN or infinite elements, or report all",
                     set_word(run.check_numerics, {"stop", "report"}));
  set.text("trace", "FILE", "Write a Chrome trace: when each node and copy ran, one at a time", run.trace);
}

/// What every execution takes, one step or many.
void declare_execution(OptionSet& set, Options& o, bool train) {
  RunOptions& run = o.pipeline.run;
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
}

void declare_memory_report(OptionSet& set, Options& o) {
  set.optional_value("memory-report", "text", "json", "Memory of each device and what was live at its peak",
                     set_word(o.memory_report, {"text", "json"}));
}

void declare_talk(OptionSet& set, Options& o) {
  set.flag("quiet,-q", "Errors only", o.quiet);
  set.flag("verbose,-v", "Times of the stages, and where each option came from", o.verbose);
  set.value("log-level", "LEVEL", "debug, info, warning, error or off",
            set_choice(o.log_level, {std::begin(kLevels), std::end(kLevels)}));
  set.text("log-file", "FILE", "Append what is said beside results to a file", o.log_file);
  set.value("color", "WHEN", "auto, always or never", set_choice(o.color, {"auto", "always", "never"}));
  set.flag("dump-config", "Print the given options as a TOML file and stop", o.dump_config);
}

}  // namespace

void declare_options(OptionSet& set, std::string_view command, Options& o) {
  constexpr std::string_view kOfARun = "Of a run: accepted, without effect on a placement";
  bool run = command == "run", place = command == "place", explain = command == "explain";
  bool train = command == "train";
  bool check = command == "check", devices = command == "devices", ops = command == "ops";
  bool reads_graph = run || place || explain || check || train;

  if (explain) {
    set.positional("GRAPH [NODE...]", "Without a node: a summary by reason. GRAPH '-' is standard input.", o.arguments);
  } else if (train) {
    set.positional("GRAPH", "GRAPH '-' is standard input.", o.arguments);
  } else if (reads_graph) {
    set.positional("GRAPH...", "GRAPH '-' is standard input. Several files are taken in order.", o.arguments);
  } else if (ops) {
    set.positional("[OP]", "Without an op: all of them.", o.arguments);
  }
  set.group("Placement", run || place || explain || train);
  declare_placing(set, o);
  set.group("Placement", run || place || explain || check || train);
  declare_kernels(set, o.pipeline.placing);
  set.group("Devices", run || place || explain || devices || train);
  declare_devices(set, o);
  set.group("Execution", run || place || explain || train);
  declare_request(set, o.pipeline.run, train);
  declare_targets(set, o.pipeline.run, train);
  set.group(explain ? kOfARun : "Execution", run || place || explain || train);
  declare_memory_report(set, o);
  // A run's command line can be placed as it is.
  set.group(place || explain ? kOfARun : "Execution", run || place || explain || train);
  declare_execution(set, o, train);
  declare_watching(set, o);
  declare_outputs(set, o);
  set.group("Training", train);
  declare_train_options(set, o);

  set.group("Files and output", explain);
  set.text("on", "DEVICE", "What would have to change for the node to be there", o.on_device);
  set.group("Files and output", devices);
  set.text("parse", "NAME", "Read a device name", o.parse_name);
  set.group("Files and output", reads_graph);
  set.list("allow-path", "DIR", "A folder outside the graph's own that it may read from",
           o.pipeline.load.allowed_paths);
  set.value("dump", "STAGE", "Print what a stage made",
            [&o](const std::string& text) { return set_stage(o.pipeline.dump, text); });
  set.group("Files and output", run || place || check);
  set.flag("keep-going", "Go on with the next file after a failure", o.keep_going);
  std::vector<std::string_view> formats = {"text", "json"};
  if (run || train) formats = {"text", "json", "jsonl"};
  if (place) formats = {"text", "json", "csv", "dot", "html"};
  std::string forms;
  for (std::string_view form : formats) append(forms, forms.empty() ? "" : ", ", form);
  set.group("Files and output");
  set.value("format", "FORMAT", cat("Form of the output: ", forms), set_format(o.format, formats));
  set.group("Talk");
  declare_talk(set, o);
}

Status set_up_log(const Options& o, Log& log) {
  if (o.log_level >= 0) {
    log.set_level(static_cast<LogLevel>(o.log_level));
  } else if (o.quiet) {
    log.set_level(LogLevel::kError);
  } else if (o.verbose) {
    log.set_level(LogLevel::kDebug);
  }
  if (!o.log_file.empty()) RETURN_IF_ERROR(log.open(o.log_file));
  log.set_color(static_cast<ColorMode>(o.color));
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
