// The stage that trains.
#include <chrono>

#include "core/base/cat.h"
#include "core/run_watch.h"
#include "core/train/train_reports.h"
#include "core/training.h"

namespace emplace {
namespace {

/// Numbers the steps of a trace, and ends a training that takes longer than --timeout.
class StepWatch final : public TrainListener {
 public:
  StepWatch(RunWatch& watch, double timeout_s) : watch_(watch), timeout_s_(timeout_s) {}
  Status step(const StepRecord& record) override {
    watch_.begin_step(record.step + 1);
    if (timeout_s_ == 0 || std::chrono::steady_clock::now() - start_ < std::chrono::duration<double>(timeout_s_))
      return ok_status();
    return {Code::kDeadlineExceeded, cat("timed out after ", timeout_s_, " s and ", record.step, " steps")};
  }

 private:
  RunWatch& watch_;
  const double timeout_s_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

TrainSetup train_setup(const StageContext& c, const Planned& planned, Trainable& trainable,
                       const TrainingOptions& options) {
  TrainSetup setup;
  setup.file = planned.file.get();
  setup.request = &trainable.training;
  setup.graph = &trainable.graph;
  setup.init = trainable.request.init;
  setup.train = trainable.train.get();
  setup.test = trainable.test.get();
  for (const Fetch& fetch : trainable.fetches) setup.fetches.push_back(fetch.tensor);
  setup.warmup_steps = c.options.run.warmup;
  setup.folder = trainable.folder ? &*trainable.folder : nullptr;
  setup.save_every_steps = options.save_every_steps;
  setup.save_every_s = options.save_every_s;
  setup.restored = trainable.restored ? &*trainable.restored : nullptr;
  setup.graph_sha256 = trainable.graph_sha256;
  return setup;
}

}  // namespace

Status train(StageContext& c, const Planned& planned, Trainable& trainable, const TrainingOptions& options,
             TrainListener& listener, const std::function<void()>& begins, TrainResult& result) {
  ListenerList listeners;
  listeners.add(&listener);
  StepWatch watch(*planned.watch, c.options.run.timeout_s);
  listeners.add(&watch);
  TrainLoop loop(train_setup(c, planned, trainable, options), listeners, *c.stop);
  RETURN_IF_ERROR(loop.prepare(*planned.session));
  begins();
  planned.watch->begin_step(1);
  return planned.watch->end_steps(loop.run(*planned.session, result));
}

}  // namespace emplace
