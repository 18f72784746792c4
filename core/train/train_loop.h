/// The training loop: batches in, steps, evaluation after each epoch, checkpoints; told to a listener as it happens.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/run/session.h"
#include "core/train/batches.h"
#include "core/train/checkpoint_folder.h"
#include "core/train/dataset.h"
#include "core/train/train_request.h"
#include "core/train/training_graph.h"

namespace emplace {

struct StepRecord {
  int64_t epoch = 1, step = 1;                     // both from 1; steps go on over epochs
  int64_t step_in_epoch = 1, steps_per_epoch = 0;  // 0: no data, hence no epochs
  int64_t samples = 0;
  double loss = 0;              // of the batch before its update
  std::vector<double> metrics;  // of the batch
  int tower = -1;               // ps-async: which one did it
};

struct EpochRecord {
  int64_t epoch = 1, step = 1;
  double mean_loss = 0;         // over the samples of the epoch's steps since the start or --restore
  double samples_per_s = 0;     // without the warm-up
  std::vector<double> metrics;  // on the test set; empty without one
};

/// Of an epoch's steps until now.
struct EpochSums {
  double loss = 0;  // over samples
  int64_t samples = 0;
};

/// A run that goes on from `state` with the same result adds to its times, and tells no step or epoch twice.
struct TrainResult {
  int64_t epochs = 0, steps = 0;  // begun and done, those before a restored checkpoint included
  double loss = 0;                // of the last step
  std::vector<double> metrics;    // on the test set at the end; without one, of the last batch
  bool has_test = false;
  double total_s = 0, compute_s = 0, copy_s = 0, waiting_s = 0;  // without the warm-up
  std::string checkpoint;                                        // the last one written
  std::vector<Tensor> outputs;           // of the fetches; empty if the training did not come to its end
  std::map<int64_t, int64_t> staleness;  // ps-async: steps by the updates that others made during them; else empty
  std::vector<int64_t> tower_steps;      // ps-async, in this run
  std::optional<Checkpoint> state;       // after the last whole step: TrainSetup::keeps_state, one_returned
  EpochSums sums;                        // until `state`
  bool for_more_tasks = false;           // the run ended because one_returned
  int64_t told_step = 0, told_epoch = 0;
};

/// Hears of progress, in order, on the loop's thread. An error ends the training.
class TrainListener {
 public:
  virtual ~TrainListener() = default;
  virtual void step_begins(int64_t /*step*/) {}
  virtual Status step(const StepRecord&) { return ok_status(); }
  virtual Status epoch(const EpochRecord&) { return ok_status(); }
  virtual void saved(const std::string& /*path*/) {}
  /// Something that training goes on in spite of.
  virtual void warning(const std::string& /*text*/) {}
};

/// What is trained, and on what. Everything pointed to must outlive the loop.
struct TrainSetup {
  const GraphFile* file = nullptr;
  const TrainRequest* request = nullptr;
  const TrainGraph* graph = nullptr;
  std::function<Status(Session&)> first_values;  // of variables, before `init`; may be empty
  std::vector<NodeId> init;
  const Dataset* train = nullptr;  // null: the graph needs no feeds
  const Dataset* test = nullptr;   // null: no evaluation
  std::vector<Endpoint> fetches;   // computed once after the last step, of its batch, which ps-async has none of

  int64_t warmup_steps = 0;  // the first of this run, which times leave out

  CheckpointFolder* folder = nullptr;    // null: nothing is saved
  int64_t save_every_steps = 0;          // 0: not by steps
  double save_every_s = 0;               // 0: not by time
  const Checkpoint* restored = nullptr;  // null: from the beginning
  std::vector<char> needed;              // by node: does a step need it? Of what `restored` holds for tables
  bool keeps_state = false;              // after each step, to go on from with other tasks; not with ps-async
  /// Between steps: has a task that was lost come back? Then the run ends, blamed on the peer, with the
  /// state to go on from. May be empty.
  std::function<bool()> one_returned;
  int64_t check_replicas_every = 0;  // steps; 0: never
  RunIdentity identity;              // what checkpoints say of this run
};

class TrainLoop {
 public:
  /// Once stop_requested(), the step is finished, the state saved, and run() returns what stop_status() says.
  TrainLoop(TrainSetup setup, TrainListener& listener)
      : setup_(std::move(setup)),
        file_(*setup_.file),
        request_(*setup_.request),
        graph_(*setup_.graph),
        train_(setup_.train),
        test_(setup_.test),
        listener_(listener) {}

  /// Declares the steps to the session and plans them for all batch sizes: memory is known afterwards.
  Status prepare(Session& session);
  /// DataLoss: the loss is not finite; the message says where that began. What came until then is in `result`.
  Status run(Session& session, TrainResult& result);

 private:
  struct Progress;
  Status plan_batches(Session& session, int callable, const Dataset& data);
  int64_t steps_left(const Progress& p) const;
  Status leave_for_others(Session& session, const Progress& p, TrainResult& result);
  Status one_step(Session& session, Progress& p, TrainResult& result);
  Status run_in_order(Session& session, Progress& p, TrainResult& result, int64_t count);
  Status run_towers(Session& session, Progress& p, TrainResult& result, int64_t count);
  /// `tower`: -1: there are none.
  Status tell_step(const Session& session, Progress& p, const Batch& batch, const std::vector<Tensor>& outputs,
                   int tower, TrainResult& result);
  Status peer_lost(const Status& status, const Progress& p) const;
  Status finish(Session& session, Progress& p, TrainResult& result, Status status);
  Status evaluate(Session& session, std::vector<double>& metrics);
  Status end_epoch(Session& session, Progress& p, TrainResult& result);
  Result<Checkpoint> state_of(Session& session, const Progress& p) const;
  Status save(Session& session, Progress& p, TrainResult& result);
  void warn_of_metric(size_t metric, double value, const Batch& batch);
  Status explain(Session& session, const Progress& p, const std::string& what) const;
  void restart_clocks(const Session& session, Progress& p, TrainResult& result) const;
  bool time_to_save(const Progress& p) const;
  SampleOrder train_order() const;

  const TrainSetup setup_;
  const GraphFile& file_;
  const TrainRequest& request_;
  const TrainGraph& graph_;
  const Dataset* train_;
  const Dataset* test_;
  TrainListener& listener_;
  // What Session::add_step() declared; -1: there is none.
  std::vector<int> tower_callables_;  // ps-async
  int train_callable_ = -1, test_callable_ = -1, forward_callable_ = -1, fetch_callable_ = -1;
  bool warned_of_metric_ = false;
};

}  // namespace emplace
