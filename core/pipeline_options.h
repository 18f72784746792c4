/// Everything that a subcommand can ask of the pipeline, as plain values; the command line fills it, the graph file's
/// `config` adds what nobody asked for.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/named_files.h"
#include "core/base/output_file.h"
#include "core/device/device_options.h"
#include "core/formats/graph_format.h"
#include "core/graph/graph_file.h"
#include "core/place/auto/problem.h"
#include "core/place/gates.h"
#include "core/place/node_filter.h"
#include "core/place/overrides.h"
#include "core/report/bench/cost_table.h"
#include "core/run/gpu_options.h"

namespace emplace {

namespace autoplace {
struct Solution;
}

/// The stages, in their order.
enum class Stage : uint8_t { kLoad, kValidate, kLower, kPlace, kPartition, kPlan, kExecute };
inline constexpr Stage kStages[] = {Stage::kLoad,      Stage::kValidate, Stage::kLower,  Stage::kPlace,
                                    Stage::kPartition, Stage::kPlan,     Stage::kExecute};
/// "load", "validate", ...
std::string_view stage_name(Stage stage);

/// What --check-numerics does about NaN and infinite elements.
enum class NumericsAction : uint8_t { kNone, kStop, kReport };

/// A session runs the steps of one request, or gets those of a training.
enum class Steps : uint8_t { kOfRun, kOfTraining };

/// Which placement --auto leads to: what the search found, or one of those that it is compared with.
enum class AutoPick : uint8_t { kFound, kTensorFlow, kOneDevice };

/// --auto: devices by measured costs.
struct AutoFlags {
  std::optional<autoplace::Goal> goal;  // nothing: TensorFlow's rule
  std::vector<std::string> costs;       // files; empty: that of this machine
  double time_limit_s = 0;              // 0: the search ends by its own budget
  bool verify = false;                  // measure before the first step that counts
  AutoPick pick = AutoPick::kFound;
  std::shared_ptr<autoplace::Solution> solution;  // of one graph: the first search leaves it here for the next
  /// `costs`, as they were first read: a pipe can be read only once.
  std::shared_ptr<std::map<std::string, CostTable>> tables = std::make_shared<std::map<std::string, CostTable>>();
};

/// What the command line and the file say of placing. The placer takes what the pipeline makes of it (PlaceOptions).
struct PlaceFlags {
  bool allow_soft_placement = false;
  std::string log_device_placement;     // empty: no; else "stderr", "stdout" or a file
  OutputFile* placement_log = nullptr;  // that file; all graphs of a command write to it
  bool log_eagerly = false;             // a line as each op starts, in place of the placement lines
  RequestRules rules;
  std::string placement_in, placement_out;
  OutputFile* placement_file = nullptr;  // that of placement_out, begun; it takes the first placement that is made
  Gates gates;
  bool available_kernels_only = false;
  AutoFlags automatic;
};

/// --functions: which graph is placed, and which one runs (core/function_stage.h).
enum class FunctionMode : uint8_t { kAuto, kKeep, kInline };

struct FunctionOptions {
  FunctionMode mode = FunctionMode::kAuto;
  int64_t max_nodes = int64_t{16} << 20;  // of the graph once functions are lowered
};

struct RunOptions {
  std::vector<std::string> fetch, target;
  std::vector<std::string> feed;   // NAME=SPEC
  bool colocate_gradients = true;  // of "gradients(LOSS,X)" with their forward nodes
  int64_t steps = 1, warmup = 0;
  int64_t in_flight = 1;  // steps under way beside each other
  int64_t seed = 0;
  bool deterministic = false;
  double timeout_s = 0;
  NumericsAction check_numerics = NumericsAction::kNone;
  std::string trace;  // a file for the trace, or ""
  bool step_report = false;
  std::pair<int64_t, int64_t> trace_steps{-1, INT64_MAX};  // which steps it has; -1: initializers, too
  NodeFilter watched;                                      // what it shows of them, and what --fetch '*' stands for
  int64_t inter_op_threads = 0, intra_op_threads = 0;
  std::string restore;                  // a checkpoint: its file or folder; empty: none
  std::string signature;                // --signature; empty: the default one
  std::vector<std::string> fetch_keys;  // for `fetch`, by place: the keys that they were asked for by; may be shorter
  GpuExec gpu_exec = GpuExec::kAuto;
  GpuFuse gpu_fuse = GpuFuse::kAuto;
  bool tf32 = false;  // --matmul-precision
  bool sync_every_node = false;
};

struct PipelineOptions {
  LoadOptions load;
  std::optional<GraphFormat> input_format;  // --input-format; else the file's content tells
  std::vector<std::string> tags;            // --tags: which graph of a SavedModel
  DeviceOptions devices;
  PlaceFlags placing;
  FunctionOptions functions;
  RunOptions run;
  NamedFiles files;               // what the options of all commands read and write
  bool require_gpu = false;       // fail where no GPU can be used
  std::optional<Stage> dump;      // --dump: what this stage made is printed
  int64_t host_memory_limit = 0;  // bytes; 0: what the machine has free, less a margin

  /// Options that a flag, the environment or a configuration file has set: they beat the graph file. Flag names
  /// without dashes.
  std::set<std::string, std::less<>> given;
  /// Those of them that stand on the command line: what elsewhere may be there for other commands.
  std::set<std::string, std::less<>> typed;
};

/// Takes from the graph file's `config` what nobody has set. Returns the names of the options it set, for -v.
std::vector<std::string> apply_file_config(const FileConfig& config, PipelineOptions& options);

}  // namespace emplace
