// Part of core/training.h: The stage that trains.
#include "core/pipeline_stage.h"
#include "core/run_watch.h"
#include "core/train/train_reports.h"
#include "core/training.h"

namespace emplace {
namespace {

/// Numbers the steps of a trace.
class StepWatch final : public TrainListener {
 public:
  explicit StepWatch(RunWatch& watch) : watch_(watch) {}
  void step_begins(int64_t step) override { watch_.begin_step(step); }
  Status step(const StepRecord& record) override { return watch_.between_steps(record.step + 1), ok_status(); }

 private:
  RunWatch& watch_;
};

std::vector<char> needed_to_train(const Graph& g, const Trainable& trainable) {
  RunRequest all = trainable.request;
  for (const TrainGraph::TowerStep& tower : trainable.graph.towers) {
    all.targets.push_back(tower.update);
    all.targets.push_back(tower.loss.node);
  }
  return needed_nodes(g, all);
}

TrainSetup train_setup(const StageContext& c, const Planned& planned, Trainable& trainable,
                       const TrainingOptions& options) {
  TrainSetup setup;
  setup.file = planned.file.get();
  setup.request = &trainable.training;
  setup.graph = &trainable.graph;
  setup.first_values = [&c, &planned, &trainable](Session&) {
    return restore_model(c, planned, trainable.request, Steps::kOfTraining);
  };
  setup.init = trainable.request.init;
  setup.needed = needed_to_train(planned.file->graph, trainable);
  setup.train = trainable.train.get();
  setup.test = trainable.test.get();
  for (const Fetch& fetch : trainable.fetches) setup.fetches.push_back(fetch.tensor);
  setup.warmup_steps = c.options.run.warmup;
  setup.folder = trainable.folder ? &*trainable.folder : nullptr;
  setup.save_every_steps = options.save_every_steps;
  setup.save_every_s = options.save_every_s;
  setup.restored = trainable.restored ? &*trainable.restored : nullptr;
  setup.keeps_state = options.regroups;
  setup.one_returned = options.one_returned;
  setup.check_replicas_every = options.check_replicas_every;
  setup.identity = trainable.identity;
  return setup;
}

}  // namespace

Status train(StageContext& c, const Planned& planned, Trainable& trainable, const TrainingOptions& options,
             TrainListener& listener, const std::function<void()>& begins, TrainResult& result) {
  ListenerList listeners;
  listeners.add(&listener);
  StepWatch watch(*planned.watch);
  listeners.add(&watch);
  TrainLoop loop(train_setup(c, planned, trainable, options), listeners);
  RETURN_IF_ERROR(told_of_step(c, loop.prepare(*planned.session), planned));
  begins();
  planned.watch->between_steps(1);
  return told_of_step(c, planned.watch->end_steps(loop.run(*planned.session, result)), planned);
}

}  // namespace emplace
