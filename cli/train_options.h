/// The flags that only `emplace train` takes.
#pragma once

#include <string>

#include "cli/option_set.h"
#include "core/train/train_options.h"

namespace emplace {

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

void declare_train_options(OptionSet& set, TrainOptions& train);

}  // namespace emplace
