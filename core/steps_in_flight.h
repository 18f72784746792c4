/// StepsInFlight: several steps of a run under way beside each other, as a placement for throughput needs them, with
/// results in the order of the steps.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "core/graph/graph.h"
#include "core/partition/step_request.h"
#include "core/run/session.h"

namespace emplace {

struct RunRequest;

/// FailedPrecondition: a step reads what the one before it wrote, or leaves something behind for it, and the node that
/// does so by name. `request` may have initializers, which run before all steps.
Status check_steps_apart(const Graph& graph, const RunRequest& request);

class StepsInFlight {
 public:
  /// Of the step with this number, in order, one at a time; `us`: its own time. What is not OK ends the run.
  using Done = std::function<Status(int64_t step, double us, std::vector<Tensor>& outputs)>;

  /// Plans `count` steps that may run at once, each with memory of its own and a share of the threads, before the
  /// session's first one. `session` must outlive it. ResourceExhausted: they do not fit.
  StepsInFlight(Session& session, const StepRequest& request, int count);
  Status plan();

  /// Steps [first, end), of which each begins as soon as one of the `count` is free. The error of the earliest step
  /// that fails; `done` has heard of all before it.
  Status run(int64_t first, int64_t end, const Done& done);

 private:
  void work(int callable, int64_t end, const Done& done);

  Session& session_;
  std::vector<int> callables_;

  std::mutex mutex_;
  std::condition_variable told_one_;
  // Guarded by mutex_.
  int64_t next_ = 0, told_ = 0;
  Status status_;
};

}  // namespace emplace
