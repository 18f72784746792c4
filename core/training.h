/// Training as stages of the pipeline: a graph that was read becomes one that trains; it is placed, partitioned and
/// planned as any other; then it is trained.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/pipeline.h"
#include "core/train/checkpoint_folder.h"
#include "core/train/dataset.h"
#include "core/train/train_loop.h"
#include "core/train/train_options.h"

namespace emplace {

/// What a training is asked beside what every execution takes. The curves are for whoever listens to it.
struct TrainingOptions {
  TrainFlags flags;
  std::string checkpoint, log_csv, plot;
  int64_t save_every_steps = 0;  // neither of these: at the end only
  double save_every_s = 0;
  CheckpointFormat checkpoint_format = CheckpointFormat::kNpz;
  int64_t keep = 5;        // checkpoints; 0: all
  bool overwrite = false;  // of the folder's
  int64_t log_every = 0;   // steps; 0: a line per epoch
  Replication replication;
  std::string graph_out;                    // --graph-out: the graph that trains
  bool dry_run = false;                     // no step is run, and no data read
  int64_t check_replicas_every = 0;         // steps; 0: never
  bool regroups = false;                    // go on without workers that are lost
  std::function<bool()> one_returned;       // has a task that was lost come back? Empty: none may
  std::shared_ptr<const Checkpoint> state;  // to go on from it, in place of --restore; null: no
};

/// A graph that trains, and all that its training needs. The graph has gradients, updates and replicas in it.
struct Trainable : Runnable {
  TrainRequest training;
  TrainGraph graph;
  std::vector<Fetch> fetches;            // --fetch: of the last step
  std::unique_ptr<Dataset> train, test;  // null: there are none
  std::optional<CheckpointFolder> folder;
  std::optional<Checkpoint> restored;
  RunIdentity identity;

  std::vector<std::string> metric_names() const;
};

/// validate, for a training: reads keys and flags, looks up names, adds gradients, reads the data, opens checkpoints.
/// `wants_outputs`: somebody needs what --fetch names.
Result<Trainable> validate_training(StageContext& context, const Loaded& loaded, const TrainingOptions& options,
                                    bool wants_outputs);

/// What a training on several tasks must have in common, by names for messages: hashes of the graph and of the data.
Result<std::vector<std::pair<std::string, std::string>>> training_facts(StageContext& context, const Loaded& loaded,
                                                                        const TrainingOptions& options);

/// Trains to the end, or until the context's stop flag is set. `begins` is called when all is planned, before the first
/// step. What came until then is in `result`, also of a training that failed.
Status train(StageContext& context, const Planned& planned, Trainable& trainable, const TrainingOptions& options,
             TrainListener& listener, const std::function<void()>& begins, TrainResult& result);

}  // namespace emplace
