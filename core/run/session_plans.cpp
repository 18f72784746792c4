#include "core/run/session_plans.h"

#include <algorithm>
#include <utility>

#include "core/base/stop.h"
#include "core/partition/rounds.h"
#include "core/run/cut_programs.h"
#include "core/run/exchange.h"
#include "core/run/session_variables.h"

namespace emplace {

SessionPlans::SessionPlans(const GraphFile& file, const DeviceSet& devices, const Placement& placement,
                           Runtime& runtime, const ConstantFeeds& constant_feeds, const TaskShare* share)
    : file_(file),
      devices_(devices),
      placement_(placement),
      runtime_(runtime),
      share_(share),
      memory_(file, devices, runtime) {
  for (const auto& [endpoint, value] : constant_feeds) {
    constant_endpoints_.push_back(endpoint);
    constant_values_.push_back(value);
  }
}

Status SessionPlans::prepare_step(const StepRequest& request, ProgramThreads threads) {
  ASSIGN_OR_RETURN(step_.executor, prepare_within_limits(request, {}, threads, 0));
  return bind(step_, 0);
}

Result<SessionPlans::Planned> SessionPlans::plan_once(const StepRequest& request, const std::vector<Tensor>& feeds,
                                                      ProgramThreads threads) {
  Planned once;
  ASSIGN_OR_RETURN(once.executor, prepare(request, feeds, threads));
  RETURN_IF_ERROR(bind(once, 0));
  return once;
}

int SessionPlans::add(StepRequest request, ProgramThreads threads) {
  Callable& added = callables_.emplace_back();
  added.request = std::move(request);
  added.threads = threads;
  return static_cast<int>(callables_.size()) - 1;
}

void SessionPlans::set_apart(Callable& callable, int intra_op_threads, int inter_op_threads) {
  callable.lane = ++num_lanes_;
  callable.share.configure(intra_op_threads, &runtime_.stop);
  callable.threads = {&callable.share, inter_op_threads};
}

Result<SessionPlans::Planned*> SessionPlans::find_or_plan(Callable& callable, const std::vector<Tensor>& feeds) {
  for (Planned& plan : callable.plans) {
    auto same = [](const Tensor& a, const Tensor& b) { return a.shape() == b.shape(); };
    if (std::equal(feeds.begin(), feeds.end(), plan.feeds.begin(), plan.feeds.end(), same)) return &plan;
  }
  Planned plan;
  for (const Tensor& feed : feeds) {
    ASSIGN_OR_RETURN(Tensor room, Tensor::allocate(feed.dtype(), feed.shape()));
    RETURN_IF_ERROR(write_over(room, feed));
    plan.feeds.push_back(std::move(room));
  }
  ASSIGN_OR_RETURN(plan.executor, prepare_within_limits(callable.request, plan.feeds, callable.threads, callable.lane));
  if (callable.plans.size() == kPlansPerCallable) {
    if (last_ == callable.plans.front().executor.get()) last_ = nullptr;
    callable.plans.pop_front();
  }
  callable.plans.push_back(std::move(plan));
  return &callable.plans.back();
}

Status SessionPlans::begin_run(const Callable& callable, Planned& plan) {
  if (!plan.bound) {
    std::lock_guard lock(binding_);
    RETURN_IF_ERROR(bind(plan, callable.lane));
    plan.bound = true;
  }
  last_ = plan.executor.get();
  return ok_status();
}

Result<std::unique_ptr<Executor>> SessionPlans::prepare(const StepRequest& step, const std::vector<Tensor>& feeds,
                                                        ProgramThreads threads, bool early_launches) {
  StepRequest request = step;
  request.feeds = constant_endpoints_;
  request.feeds.insert(request.feeds.end(), step.feeds.begin(), step.feeds.end());
  const PartitionOptions how{.num_constant_feeds = constant_endpoints_.size(), .early_launches = early_launches};
  std::vector<Tensor> values = constant_values_;
  values.insert(values.end(), feeds.begin(), feeds.end());
  ASSIGN_OR_RETURN(Program program, make_program(request, how));
  RETURN_IF_ERROR(stop_status());
  auto executor = std::make_unique<Executor>(file_, devices_, std::move(program), runtime_, threads);
  RETURN_IF_ERROR(executor->prepare(values));
  return executor;
}

Result<Program> SessionPlans::make_program(const StepRequest& request, const PartitionOptions& how) const {
  if (!share_) return partition(file_, devices_, placement_, request, how);
  const auto cut = [&]() -> Result<std::shared_ptr<const WholeProgram>> {
    ASSIGN_OR_RETURN(Program made, partition(file_, share_->cluster, placement_, request, how));
    return std::make_shared<const WholeProgram>(file_, share_->cluster, share_->tasks, std::move(made));
  };
  ASSIGN_OR_RETURN(const auto whole, share_->programs ? share_->programs->find(request, how, cut) : cut());
  RETURN_IF_ERROR(share_->exchange.agree(whole->hash));
  ASSIGN_OR_RETURN(Program part, whole->part_of(share_->task));
  if (share_->exchange.takes_rounds()) part.rounds = find_rounds(file_.graph, whole->program, share_->tasks);
  return part;
}

// On several GPUs, launches ahead of their order take memory: planned again without them if it does not fit.
Result<std::unique_ptr<Executor>> SessionPlans::prepare_within_limits(const StepRequest& step,
                                                                      const std::vector<Tensor>& feeds,
                                                                      ProgramThreads threads, size_t lane) {
  ASSIGN_OR_RETURN(auto executor, prepare(step, feeds, threads));
  Status fits = memory_.check_limits({executor.get(), lane}, all());
  const auto gpus = std::count_if(devices_.devices.begin(), devices_.devices.end(),
                                  [](const Device& d) { return d.kind == DeviceKind::kCuda; });
  if (!fits.ok() && gpus > 1 && !share_) {  // tasks have to cut the same program
    executor.reset();
    ASSIGN_OR_RETURN(executor, prepare(step, feeds, threads, false));
    fits = memory_.check_limits({executor.get(), lane}, all());
  }
  RETURN_IF_ERROR(fits);
  return executor;
}

Status SessionPlans::bind(Planned& plan, size_t lane) {
  RETURN_IF_ERROR(memory_.map_blocks(all()));
  return memory_.bind(*plan.executor, lane, plan.own);
}

std::vector<LanePlan> SessionPlans::all() const {
  std::vector<LanePlan> out;
  if (step_.executor) out.push_back({step_.executor.get(), 0});
  for (const Callable& callable : callables_) {
    for (const Planned& plan : callable.plans) out.push_back({plan.executor.get(), callable.lane});
  }
  return out;
}

}  // namespace emplace
