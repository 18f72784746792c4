// Session: its options as a Runtime, its plans, its variables, and the steps in their order.
#include "core/run/session.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/run/exchange.h"
#include "core/run/launch_facts.h"
#include "core/run/session_plans.h"
#include "core/run/session_variables.h"

namespace emplace {
namespace {

class SessionImpl final : public Session {
 public:
  SessionImpl(const GraphFile& file, const DeviceSet& devices, const Placement& placement, SessionOptions options)
      : options_(std::move(options)),
        runtime_(devices, options_.seed, options_.gpu, options_.task),
        plans_(file, devices, placement, runtime_, options_.feeds, options_.share),
        variables_(file, devices, placement, runtime_, options_.share) {
    runtime_.stop.flag = options_.stop;
    runtime_.stop.timeout_s = options_.timeout_s;
    int all = ThreadPool::shared().size();
    auto allowed = [all](int asked) { return asked > 0 ? std::min(asked, all) : all; };
    intra_op_threads_ = allowed(options_.intra_op_threads);
    parallel_.configure(intra_op_threads_, &runtime_.stop);
    variables_.use_threads(intra_op_threads_);
    threads_ = {&parallel_, options_.observer ? 1 : allowed(options_.inter_op_threads)};
    runtime_.observer = options_.observer;
    runtime_.trace = options_.trace;
    runtime_.checkpoints = options_.checkpoints;
    if (options_.share) {
      runtime_.exchange = &options_.share->exchange;
      runtime_.collective_id = options_.share->collective_id;
    }
  }

  Status prepare_steps() {
    if (options_.fetches.empty() && options_.targets.empty()) return ok_status();
    return plans_.prepare_step({options_.fetches, options_.targets, {}, {}}, threads_);
  }

  Status run_nodes(const std::vector<NodeId>& nodes) override {
    ASSIGN_OR_RETURN(auto once, plans_.plan_once({{}, nodes, {}, {}}, {}, threads_));
    runtime_.stop.start();
    return once.executor->run(0);
  }

  Status step(std::vector<Tensor>& outputs) override {
    runtime_.stop.start();
    RETURN_IF_ERROR(plans_.step()->run(step_++));
    return plans_.step()->fetch(outputs);
  }

  int add_step(StepRequest request, int at_once) override {
    const int number = plans_.add(std::move(request), threads_);
    if (at_once > 1) {
      plans_.set_apart(plans_.callable(number), std::max(1, intra_op_threads_ / at_once),
                       std::max(1, threads_.inter_op / at_once));
    }
    return number;
  }

  Status plan_step(int callable, const std::vector<Tensor>& feeds) override {
    return plans_.find_or_plan(plans_.callable(callable), feeds).take_status();
  }

  Status run_step(int callable, const std::vector<Tensor>& feeds, std::vector<Tensor>& outputs) override {
    return run_callable(callable, step_++, feeds, outputs);
  }

  Status run_numbered_step(int callable, int64_t number, std::vector<Tensor>& outputs) override {
    std::call_once(numbered_began_, [this] { runtime_.stop.start(); });  // one deadline for all of them
    return run_callable(callable, number, {}, outputs);
  }

  Status run_callable(int callable, int64_t number, const std::vector<Tensor>& feeds, std::vector<Tensor>& outputs) {
    SessionPlans::Callable& c = plans_.callable(callable);
    ASSIGN_OR_RETURN(SessionPlans::Planned * plan, plans_.find_or_plan(c, feeds));
    RETURN_IF_ERROR(plans_.begin_run(c, *plan));
    for (size_t i = 0; i < feeds.size(); ++i) RETURN_IF_ERROR(write_over(plan->feeds[i], feeds[i]));
    if (c.lane == 0) runtime_.stop.start();
    RETURN_IF_ERROR(plan->executor->run(number));
    return plan->executor->fetch(outputs);
  }

  Status run_observed(int callable, const std::vector<Tensor>& feeds, RunObserver& observer) override {
    RunObserver* others = std::exchange(runtime_.observer, &observer);
    auto once = plans_.plan_once(plans_.callable(callable).request, feeds, {&parallel_, 1});
    Status status = once.ok() ? once->executor->run(step_) : once.take_status();
    runtime_.observer = others;
    return status;
  }

  Result<Tensor> variable(NodeId node) override { return variables_.read(node); }
  Status set_variable(NodeId node, const Tensor& value) override { return variables_.set(node, value); }
  Status share_variable(NodeId node, const Tensor& value) override { return variables_.share(node, value); }
  Result<std::optional<TableContents>> table(NodeId node) override { return variables_.read_table(node); }
  Status set_table(NodeId node, const TableContents& contents) override { return variables_.set_table(node, contents); }

  std::vector<std::pair<NodeId, uint64_t>> random_counters() const override { return runtime_.random.drawn(); }
  void set_random_counter(NodeId node, uint64_t blocks) override { runtime_.random.of(node) = blocks; }
  const DeviceSet& devices() const override { return runtime_.devices; }
  double copy_seconds() const override { return static_cast<double>(runtime_.copy_ns) * 1e-9; }

  std::vector<DeviceMemory> memory() const override { return plans_.memory(); }
  StepFacts facts() const { return plans_.step() ? plans_.step()->facts() : StepFacts(); }
  int64_t copies_per_step() const override {
    const Executor* last = plans_.last_run();
    return last ? last->program().num_copies : 0;
  }
  int64_t copy_bytes_per_step() const override {
    const Executor* last = plans_.last_run();
    return last ? last->copy_bytes() : 0;
  }

 private:
  SessionOptions options_;
  PoolParallel parallel_;
  int intra_op_threads_ = 1;
  ProgramThreads threads_;  // of a step that has all of them
  Runtime runtime_;
  SessionPlans plans_;
  SessionVariables variables_;
  std::atomic<int64_t> step_ = 0;
  std::once_flag numbered_began_;
};

}  // namespace

Status Session::run_numbered_step(int callable, int64_t /*number*/, std::vector<Tensor>& outputs) {
  return run_step(callable, {}, outputs);
}

StepFacts step_facts(const Session& session) {
  const auto* own = dynamic_cast<const SessionImpl*>(&session);
  return own ? own->facts() : StepFacts();
}

Result<std::unique_ptr<Session>> Session::create(const GraphFile& file, const DeviceSet& devices,
                                                 const Placement& placement, SessionOptions options) {
  auto session = std::make_unique<SessionImpl>(file, devices, placement, std::move(options));
  RETURN_IF_ERROR(session->prepare_steps());
  return std::unique_ptr<Session>(std::move(session));
}

}  // namespace emplace
