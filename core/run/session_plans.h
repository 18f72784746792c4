/// SessionPlans: the steps of a session, each partitioned and planned for the shapes of what is fed, and bound to
/// memory.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "core/partition/partition.h"
#include "core/place/placement.h"
#include "core/run/executor.h"
#include "core/run/session_memory.h"
#include "core/run/thread_pool.h"

namespace emplace {

struct TaskShare;

class SessionPlans {
 public:
  using ConstantFeeds = std::vector<std::pair<Endpoint, Tensor>>;

  /// A step, planned for feeds of certain shapes.
  struct Planned {
    std::vector<Tensor> feeds;  // what the executor reads; written over before each step
    std::unique_ptr<Executor> executor;
    SessionMemory::Own own;
    bool bound = false;
  };
  /// A step that may be run again and again, with other values each time.
  struct Callable {
    StepRequest request;
    size_t lane = 0;
    PoolParallel share;  // of the threads, where others run at the same time
    ProgramThreads threads;
    std::deque<Planned> plans;  // the oldest first
  };

  /// All must outlive it. `constant_feeds` are part of every step. `share` null: all of each step runs here.
  SessionPlans(const GraphFile& file, const DeviceSet& devices, const Placement& placement, Runtime& runtime,
               const ConstantFeeds& constant_feeds, const TaskShare* share);

  /// Plans the session's own step. ResourceExhausted: it does not fit.
  Status prepare_step(const StepRequest& request, ProgramThreads threads);
  /// Null before prepare_step().
  Executor* step() const { return step_.executor.get(); }

  /// A plan for one run, which ends with what this returns; limits are not looked at.
  Result<Planned> plan_once(const StepRequest& request, const std::vector<Tensor>& feeds, ProgramThreads threads);

  /// Returns the callable's number.
  int add(StepRequest request, ProgramThreads threads);
  /// REQUIRES: such a callable. References stay valid.
  Callable& callable(int number) { return callables_[static_cast<size_t>(number)]; }
  /// The callable gets memory and `intra_op_threads` of the threads to itself, so that it may run beside others.
  void set_apart(Callable& callable, int intra_op_threads, int inter_op_threads);
  /// The plan for feeds of these shapes, made if it is not one of the last few. ResourceExhausted: it does not fit.
  Result<Planned*> find_or_plan(Callable& callable, const std::vector<Tensor>& feeds);
  /// Before each run of a plan; the first one binds its memory. Several threads may, each with a callable of its own.
  Status begin_run(const Callable& callable, Planned& plan);
  /// Of the callable that began last, else the session's own step; null: there is neither.
  const Executor* last_run() const { return last_ ? last_.load() : step(); }

  std::vector<DeviceMemory> memory() const { return memory_.report(all()); }

 private:
  static constexpr size_t kPlansPerCallable = 8;

  /// `feeds`: values of the request's own; the constant ones come first.
  Result<std::unique_ptr<Executor>> prepare(const StepRequest& step, const std::vector<Tensor>& feeds,
                                            ProgramThreads threads, bool early_launches = true);
  Result<std::unique_ptr<Executor>> prepare_within_limits(const StepRequest& step, const std::vector<Tensor>& feeds,
                                                          ProgramThreads threads, size_t lane);
  /// Of a step that all tasks run: this one's part.
  Result<Program> make_program(const StepRequest& request, const PartitionOptions& how) const;
  Status bind(Planned& plan, size_t lane);
  std::vector<LanePlan> all() const;

  const GraphFile& file_;
  const DeviceSet& devices_;
  const Placement& placement_;
  Runtime& runtime_;
  const TaskShare* const share_;
  SessionMemory memory_;
  std::vector<Endpoint> constant_endpoints_;
  std::vector<Tensor> constant_values_;
  Planned step_;  // of the session's fetches and targets; without an executor if there are none
  std::deque<Callable> callables_;
  size_t num_lanes_ = 0;  // of callables that run at the same time
  std::mutex binding_;
  std::atomic<const Executor*> last_ = nullptr;  // of a callable
};

}  // namespace emplace
