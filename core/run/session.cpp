// Session over Executor: one program for the steps, one for each run_nodes(); memory and variables are shared.
#include "core/run/session.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include "core/base/stop.h"
#include "core/partition/partition.h"
#include "core/run/executor.h"
#include "core/run/gpu_kernels.h"
#include "core/run/session_memory.h"
#include "core/run/thread_pool.h"

namespace emplace {
namespace {

class SessionImpl final : public Session {
 public:
  SessionImpl(const GraphFile& file, const DeviceSet& devices, const Placement& placement, SessionOptions options)
      : file_(file),
        devices_(devices),
        placement_(placement),
        options_(std::move(options)),
        runtime_(devices, options_.seed, options_.gpu),
        memory_(file, devices, runtime_) {
    runtime_.stop.flag = options_.stop;
    runtime_.stop.timeout_s = options_.timeout_s;
    int all = ThreadPool::shared().size();
    auto allowed = [all](int asked) { return asked > 0 ? std::min(asked, all) : all; };
    intra_op_threads_ = allowed(options_.intra_op_threads);
    parallel_.configure(intra_op_threads_, &runtime_.stop);
    threads_ = {&parallel_, options_.observer ? 1 : allowed(options_.inter_op_threads)};
    runtime_.observer = options_.observer;
    runtime_.trace = options_.trace;
    runtime_.checkpoints = options_.checkpoints;
    for (const auto& [endpoint, value] : options_.feeds) feeds_.push_back(value);
  }

  Status prepare_steps() {
    if (options_.fetches.empty() && options_.targets.empty()) return ok_status();
    ASSIGN_OR_RETURN(steps_, prepare_within_limits({options_.fetches, options_.targets, {}, {}}, {}, threads_, 0));
    return bind(*steps_, 0, own_);
  }

  Status run_nodes(const std::vector<NodeId>& nodes) override {
    ASSIGN_OR_RETURN(auto once, prepare({{}, nodes, {}, {}}, {}, threads_));
    SessionMemory::Own larger;
    RETURN_IF_ERROR(bind(*once, 0, larger));
    runtime_.stop.start();
    return once->run(0);
  }

  Status step(std::vector<Tensor>& outputs) override {
    runtime_.stop.start();
    RETURN_IF_ERROR(steps_->run(step_++));
    return steps_->fetch(outputs);
  }

  int add_step(StepRequest request, int at_once) override {
    Callable& callable = callables_.emplace_back();
    callable.request = std::move(request);
    callable.threads = threads_;
    if (at_once > 1) {
      callable.lane = ++num_lanes_;
      callable.share.configure(std::max(1, intra_op_threads_ / at_once), &runtime_.stop);
      callable.threads = {&callable.share, std::max(1, threads_.inter_op / at_once)};
    }
    return static_cast<int>(callables_.size()) - 1;
  }

  Status plan_step(int callable, const std::vector<Tensor>& feeds) override {
    return planned(callable, feeds).take_status();
  }

  Status run_step(int callable, const std::vector<Tensor>& feeds, std::vector<Tensor>& outputs) override {
    ASSIGN_OR_RETURN(Planned * plan, planned(callable, feeds));
    const Callable& c = callables_[static_cast<size_t>(callable)];
    if (!plan->bound) {
      std::lock_guard lock(binding_);
      RETURN_IF_ERROR(bind(*plan->executor, c.lane, plan->own));
      plan->bound = true;
    }
    for (size_t i = 0; i < feeds.size(); ++i) copy_elements(feeds[i], plan->feeds[i]);
    Executor& executor = *plan->executor;
    last_ = &executor;
    if (c.lane == 0) runtime_.stop.start();
    RETURN_IF_ERROR(executor.run(step_++));
    return executor.fetch(outputs);
  }

  Status run_observed(int callable, const std::vector<Tensor>& feeds, RunObserver& observer) override {
    RunObserver* others = std::exchange(runtime_.observer, &observer);
    SessionMemory::Own own;
    Status status;
    if (auto once = prepare(callables_[static_cast<size_t>(callable)].request, feeds, {&parallel_, 1}); once.ok()) {
      status = bind(**once, 0, own);
      if (status.ok()) status = (*once)->run(step_);
    } else {
      status = once.take_status();
    }
    runtime_.observer = others;
    return status;
  }

  Result<Tensor> variable(NodeId node) override {
    Variable& v = state_of(node);
    const DeviceId device = placement_.device(node);
    const GpuTurn turn(runtime_, gpus_of(device));
    std::lock_guard lock(v.mutex);
    if (!v.value.valid() || turn.empty()) return v.value;
    ASSIGN_OR_RETURN(Gpu * gpu, runtime_.gpu(device));
    return copy_to_host(*gpu, v.value);
  }

  Status set_variable(NodeId node, const Tensor& value) override {
    Variable& v = state_of(node);
    const DeviceId device = placement_.device(node);
    const GpuTurn turn(runtime_, gpus_of(device));
    std::lock_guard lock(v.mutex);
    ASSIGN_OR_RETURN(v.value, runtime_.pools[device]->allocate_persistent(value.dtype(), value.shape()));
    if (turn.empty()) return copy_elements(value, v.value), ok_status();
    ASSIGN_OR_RETURN(Gpu * gpu, runtime_.gpu(device));
    ASSIGN_OR_RETURN(const uint64_t ticket,
                     gpu->copy_in(v.value.raw(), value.raw(), value.size_bytes(), Gpu::Lane::kCompute, value.buffer()));
    return value.buffer() ? ok_status() : gpu->finish(ticket);  // who owns it shares it with the copy
  }

  Status share_variable(NodeId node, const Tensor& value) override {
    if (devices_.at(placement_.device(node)).kind != DeviceKind::kCpu) return set_variable(node, value);
    Variable& v = state_of(node);
    std::lock_guard lock(v.mutex);
    v.value = value;
    shared_.push_back(value);  // held here, too: whoever assigns to the variable does so into memory of its own
    return ok_status();
  }

  std::vector<std::pair<NodeId, uint64_t>> random_counters() const override { return runtime_.random.drawn(); }
  void set_random_counter(NodeId node, uint64_t blocks) override { runtime_.random.of(node) = blocks; }
  const DeviceSet& devices() const override { return devices_; }
  double copy_seconds() const override { return static_cast<double>(runtime_.copy_ns) * 1e-9; }

  std::vector<DeviceMemory> memory() const override { return memory_.report(plans()); }
  int64_t copies_per_step() const override {
    return last_ ? last_.load()->program().num_copies : steps_ ? steps_->program().num_copies : 0;
  }
  int64_t copy_bytes_per_step() const override {
    return last_ ? last_.load()->copy_bytes() : steps_ ? steps_->copy_bytes() : 0;
  }

 private:
  static constexpr size_t kPlansPerCallable = 8;

  /// A callable, planned for feeds of certain shapes.
  struct Planned {
    std::vector<Tensor> feeds;  // what the executor reads; written over before each step
    std::unique_ptr<Executor> executor;
    SessionMemory::Own own;
    bool bound = false;
  };
  struct Callable {
    StepRequest request;
    size_t lane = 0;
    PoolParallel share;  // of the threads, where others run at the same time
    ProgramThreads threads;
    std::deque<Planned> plans;  // the oldest first
  };

  /// What a variable's turn is of.
  std::span<const DeviceId> gpus_of(const DeviceId& device) const {
    return {&device, devices_.at(device).kind == DeviceKind::kCuda ? size_t{1} : 0};
  }

  static void copy_elements(const Tensor& from, Tensor& to) {
    if (from.dtype() == DType::kString) {
      std::copy(from.flat<std::string>().begin(), from.flat<std::string>().end(), to.data<std::string>());
    } else if (from.size_bytes() > 0) {
      std::memcpy(to.raw(), from.raw(), from.size_bytes());
    }
  }

  /// `feeds`: values of the request's own; those of the options come first.
  Result<std::unique_ptr<Executor>> prepare(const StepRequest& step, const std::vector<Tensor>& feeds,
                                            ProgramThreads threads, bool early_launches = true) {
    StepRequest request = step;
    request.feeds.clear();
    for (const auto& [endpoint, value] : options_.feeds) request.feeds.push_back(endpoint);
    request.feeds.insert(request.feeds.end(), step.feeds.begin(), step.feeds.end());
    const PartitionOptions how{.num_constant_feeds = options_.feeds.size(), .early_launches = early_launches};
    std::vector<Tensor> values = feeds_;
    values.insert(values.end(), feeds.begin(), feeds.end());
    ASSIGN_OR_RETURN(Program program, partition(file_, devices_, placement_, request, how));
    RETURN_IF_ERROR(stop_status());
    auto executor = std::make_unique<Executor>(file_, devices_, std::move(program), runtime_, threads);
    RETURN_IF_ERROR(executor->prepare(values));
    return executor;
  }

  /// Early launches on several GPUs are given up for memory.
  Result<std::unique_ptr<Executor>> prepare_within_limits(const StepRequest& step, const std::vector<Tensor>& feeds,
                                                          ProgramThreads threads, size_t lane) {
    ASSIGN_OR_RETURN(auto executor, prepare(step, feeds, threads));
    Status fits = memory_.check_limits({executor.get(), lane}, plans());
    const auto gpus = std::count_if(devices_.devices.begin(), devices_.devices.end(),
                                    [](const Device& d) { return d.kind == DeviceKind::kCuda; });
    if (!fits.ok() && gpus > 1) {
      executor.reset();
      ASSIGN_OR_RETURN(executor, prepare(step, feeds, threads, false));
      fits = memory_.check_limits({executor.get(), lane}, plans());
    }
    RETURN_IF_ERROR(fits);
    return executor;
  }

  Result<Planned*> planned(int callable, const std::vector<Tensor>& feeds) {
    Callable& c = callables_[static_cast<size_t>(callable)];
    for (Planned& plan : c.plans) {
      auto same = [](const Tensor& a, const Tensor& b) { return a.shape() == b.shape(); };
      if (std::equal(feeds.begin(), feeds.end(), plan.feeds.begin(), plan.feeds.end(), same)) return &plan;
    }
    Planned plan;
    for (const Tensor& feed : feeds) {
      ASSIGN_OR_RETURN(Tensor room, Tensor::allocate(feed.dtype(), feed.shape()));
      copy_elements(feed, room);
      plan.feeds.push_back(std::move(room));
    }
    ASSIGN_OR_RETURN(plan.executor, prepare_within_limits(c.request, plan.feeds, c.threads, c.lane));
    if (c.plans.size() == kPlansPerCallable) {
      if (last_ == c.plans.front().executor.get()) last_ = nullptr;
      c.plans.pop_front();
    }
    c.plans.push_back(std::move(plan));
    return &c.plans.back();
  }

  Status bind(Executor& executor, size_t lane, SessionMemory::Own& own) {
    RETURN_IF_ERROR(memory_.map_blocks(plans()));
    return memory_.bind(executor, lane, own);
  }

  std::vector<LanePlan> plans() const {
    std::vector<LanePlan> out;
    if (steps_) out.push_back({steps_.get(), 0});
    for (const Callable& callable : callables_) {
      for (const Planned& plan : callable.plans) out.push_back({plan.executor.get(), callable.lane});
    }
    return out;
  }

  Variable& state_of(NodeId node) const {
    Attrs attrs = file_.graph.attrs(node);
    const std::string& shared = attrs.text("shared_name");
    return runtime_.variables[placement_.device(node)]->find_or_create(
        attrs.text("container"), shared.empty() ? std::string(file_.graph.name(node)) : shared, attrs.type("dtype"),
        attrs.shape("shape"));
  }

  const GraphFile& file_;
  const DeviceSet& devices_;
  const Placement& placement_;
  SessionOptions options_;
  std::vector<Tensor> feeds_;
  PoolParallel parallel_;
  int intra_op_threads_ = 1;
  ProgramThreads threads_;      // of a step that has all of them
  std::vector<Tensor> shared_;  // values of variables that lie in mapped files
  Runtime runtime_;
  SessionMemory memory_;
  std::unique_ptr<Executor> steps_;  // of the options' fetches and targets; null if there are none
  std::deque<Callable> callables_;
  std::atomic<Executor*> last_ = nullptr;  // that run_step() ran
  SessionMemory::Own own_;
  size_t num_lanes_ = 0;  // of callables that run at the same time
  std::atomic<int64_t> step_ = 0;
  std::mutex binding_;
};

}  // namespace

Result<std::unique_ptr<Session>> Session::create(const GraphFile& file, const DeviceSet& devices,
                                                 const Placement& placement, SessionOptions options) {
  auto session = std::make_unique<SessionImpl>(file, devices, placement, std::move(options));
  RETURN_IF_ERROR(session->prepare_steps());
  return std::unique_ptr<Session>(std::move(session));
}

}  // namespace emplace
