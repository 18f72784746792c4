/// The options of every subcommand as plain values, and the flags that set them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/option_set.h"
#include "core/base/log.h"
#include "core/pipeline_options.h"
#include "core/train/train_options.h"

namespace emplace {

enum class Format { kText, kJson, kJsonl };

/// What only `train` takes.
struct TrainOptions {
  TrainFlags flags;
  std::string checkpoint, log_csv, plot;
  int64_t save_every_steps = 0;  // neither of these: at the end only
  double save_every_s = 0;
  int64_t keep = 5;       // checkpoints; 0: all
  int64_t log_every = 0;  // steps; 0: a line per epoch
  Replication replication;
  std::string graph_out;  // --graph-out: the graph that trains
  bool dry_run = false;
};

struct Options {
  std::vector<std::string> arguments;  // graph files, nodes, an op: what stands there without a flag
  PipelineOptions pipeline;
  bool keep_going = false;
  std::string format = "text";

  // run
  std::vector<std::string> save, expect;
  double rtol = 1e-5, atol = 1e-8;  // NumPy's allclose
  std::string memory_report;        // "", "text" or "json"

  TrainOptions train;

  // explain, devices
  std::string on_device, parse_name;

  bool quiet = false, verbose = false, dump_config = false;
  int log_level = -1;  // of --log-level, -1: not given
  std::string log_file;
  int color = 0;  // a ColorMode
};

/// Declares what `command` takes.
void declare_options(OptionSet& set, std::string_view command, Options& options);

/// What only `train` takes.
void declare_train_options(OptionSet& set, Options& options);

/// Makes the log speak as the options say.
Status set_up_log(const Options& options, Log& log);

/// The given options as a TOML file that --config reads.
std::string config_text(const OptionSet& set);

}  // namespace emplace
