// Session over Executor: one program for the steps, one for each run_nodes(); memory and variables are shared.
#include "core/run/session.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include "core/base/cat.h"
#include "core/device/memory_pool.h"
#include "core/partition/program.h"
#include "core/plan/plan.h"
#include "core/plan/planned_peaks.h"
#include "core/run/executor.h"
#include "core/run/gpu_kernels.h"
#include "core/run/thread_pool.h"

namespace emplace {
namespace {

std::string bytes_text(int64_t bytes) { return cat(bytes, " bytes"); }

class SessionImpl final : public Session {
 public:
  SessionImpl(const GraphFile& file, const DeviceSet& devices, const Placement& placement, SessionOptions options)
      : file_(file), devices_(devices), placement_(placement), options_(std::move(options)),
        runtime_(devices, options_.seed, options_.gpu) {
    runtime_.stop.flag = options_.stop;
    runtime_.stop.timeout_s = options_.timeout_s;
    int all = ThreadPool::shared().size();
    int threads = options_.intra_op_threads > 0 ? std::min(options_.intra_op_threads, all) : all;
    parallel_.configure(threads, &runtime_.stop);
    runtime_.parallel = &parallel_;
    runtime_.inter_op_threads = options_.inter_op_threads > 0 ? std::min(options_.inter_op_threads, all) : all;
    if (options_.observer) runtime_.inter_op_threads = 1;
    runtime_.observer = options_.observer;
    for (const auto& [endpoint, value] : options_.feeds) feeds_.push_back(value);
  }

  Status prepare_steps() {
    if (options_.fetches.empty() && options_.targets.empty()) return ok_status();
    ASSIGN_OR_RETURN(steps_, prepare({options_.fetches, options_.targets, {}, {}}, {}));
    RETURN_IF_ERROR(check_limits(*steps_));
    RETURN_IF_ERROR(map_blocks());
    return bind(*steps_, own_);
  }

  Status run_nodes(const std::vector<NodeId>& nodes) override {
    ASSIGN_OR_RETURN(auto once, prepare({{}, nodes, {}, {}}, {}));
    OwnMemory larger;
    RETURN_IF_ERROR(bind(*once, larger));
    runtime_.stop.start();
    return once->run(0);
  }

  Status step(std::vector<Tensor>& outputs) override {
    runtime_.stop.start();
    RETURN_IF_ERROR(steps_->run(step_++));
    outputs.resize(options_.fetches.size());
    for (size_t i = 0; i < outputs.size(); ++i) RETURN_IF_ERROR(steps_->fetch(i, outputs[i]));
    return ok_status();
  }

  int add_step(StepRequest request) override {
    kinds_.push_back({std::move(request), {}});
    return static_cast<int>(kinds_.size()) - 1;
  }

  Status plan_step(int kind, const std::vector<Tensor>& feeds) override { return planned(kind, feeds).take_status(); }

  Status run_step(int kind, const std::vector<Tensor>& feeds, std::vector<Tensor>& outputs) override {
    ASSIGN_OR_RETURN(Planned * plan, planned(kind, feeds));
    const StepRequest& request = kinds_[static_cast<size_t>(kind)].request;
    if (!plan->bound) {
      std::lock_guard lock(binding_);
      RETURN_IF_ERROR(map_blocks());
      RETURN_IF_ERROR(bind(*plan->executor, plan->own, request.apart));
      plan->bound = true;
    }
    for (size_t i = 0; i < feeds.size(); ++i) copy_elements(feeds[i], plan->feeds[i]);
    Executor& executor = *plan->executor;
    last_ = &executor;
    if (!request.apart) runtime_.stop.start();
    RETURN_IF_ERROR(executor.run(step_++));
    outputs.resize(request.fetches.size());
    for (size_t i = 0; i < outputs.size(); ++i) RETURN_IF_ERROR(executor.fetch(i, outputs[i]));
    return ok_status();
  }

  Status run_observed(int kind, const std::vector<Tensor>& feeds, StepObserver& observer) override {
    StepObserver* others = std::exchange(runtime_.observer, &observer);
    int threads = std::exchange(runtime_.inter_op_threads, 1);
    OwnMemory own;
    Status status;
    if (auto once = prepare(kinds_[static_cast<size_t>(kind)].request, feeds); once.ok()) {
      status = bind(**once, own);
      if (status.ok()) status = (*once)->run(step_);
    } else {
      status = once.take_status();
    }
    runtime_.observer = others;
    runtime_.inter_op_threads = threads;
    return status;
  }

  Result<Tensor> variable(NodeId node) override {
    Variable& v = state_of(node);
    std::lock_guard lock(v.mutex);
    const DeviceId device = placement_.device(node);
    if (!v.value.valid() || devices_.at(device).kind != DeviceKind::kCuda) return v.value;
    ASSIGN_OR_RETURN(Gpu * gpu, runtime_.gpu(device));
    return copy_to_host(*gpu, v.value);
  }

  Status set_variable(NodeId node, const Tensor& value) override {
    Variable& v = state_of(node);
    std::lock_guard lock(v.mutex);
    const DeviceId device = placement_.device(node);
    ASSIGN_OR_RETURN(v.value, runtime_.pools[device]->allocate_persistent(value.dtype(), value.shape()));
    if (devices_.at(device).kind != DeviceKind::kCuda) return copy_elements(value, v.value), ok_status();
    ASSIGN_OR_RETURN(Gpu * gpu, runtime_.gpu(device));
    return gpu->copy_in(v.value.raw(), value.raw(), value.size_bytes(), Gpu::Lane::kCompute);
  }

  std::vector<std::pair<NodeId, uint64_t>> random_counters() const override { return runtime_.random.drawn(); }
  void set_random_counter(NodeId node, uint64_t blocks) override { runtime_.random.of(node) = blocks; }
  const DeviceSet& devices() const override { return devices_; }
  double copy_seconds() const override { return static_cast<double>(runtime_.copy_ns) * 1e-9; }

  std::vector<DeviceMemory> memory() const override {
    std::vector<DeviceMemory> all;
    for (DeviceId d = 0; d < devices_.size(); ++d) {
      const DevicePool& pool = *runtime_.pools[d];
      DeviceMemory m;
      m.device = d;
      m.limit = pool.limit();
      const Executor* largest = largest_plan(d);
      m.planned = largest ? largest->plan().devices[d].bytes : 0;
      m.variables = pool.persistent_bytes();
      m.pool = pool.peak_transient_bytes();
      m.peak = m.planned + m.variables + m.pool;
      if (largest) {
        for (const auto& [v, bytes] : largest->plan().devices[d].live_at_peak) {
          m.live_at_peak.emplace_back(producer(*largest, v), bytes);
        }
      }
      for (auto& variable : runtime_.variables[d]->sizes()) m.live_at_peak.push_back(std::move(variable));
      std::stable_sort(m.live_at_peak.begin(), m.live_at_peak.end(),
                       [](const auto& a, const auto& b) { return a.second > b.second; });
      all.push_back(std::move(m));
    }
    return all;
  }

  int64_t copies_per_step() const override { return last_ ? last_.load()->program().num_copies : steps_ ? steps_->program().num_copies : 0; }
  int64_t copy_bytes_per_step() const override { return last_ ? last_.load()->copy_bytes() : steps_ ? steps_->copy_bytes() : 0; }

 private:
  static constexpr size_t kPlansPerKind = 8;

  /// Memory beside the devices' blocks, where those are too small.
  struct OwnMemory {
    std::vector<Mapping> mappings;
    std::vector<Tensor> on_gpus;
  };

  /// One kind of step, planned for feeds of certain shapes.
  struct Planned {
    std::vector<Tensor> feeds;  // what the executor reads; written over before each step
    std::unique_ptr<Executor> executor;
    OwnMemory own;
    bool bound = false;
  };
  struct Kind {
    StepRequest request;
    std::deque<Planned> plans;  // the oldest first
  };

  static void copy_elements(const Tensor& from, Tensor& to) {
    if (from.dtype() == DType::kString) {
      std::copy(from.flat<std::string>().begin(), from.flat<std::string>().end(), to.data<std::string>());
    } else if (from.size_bytes() > 0) {
      std::memcpy(to.raw(), from.raw(), from.size_bytes());
    }
  }

  /// `feeds`: values of the request's own; those of the options come first.
  Result<std::unique_ptr<Executor>> prepare(const StepRequest& step, const std::vector<Tensor>& feeds) {
    Request request;
    request.fetches = step.fetches;
    request.targets = step.targets;
    request.guard = step.guard;
    request.num_constant_feeds = options_.feeds.size();
    for (const auto& [endpoint, value] : options_.feeds) request.feeds.push_back(endpoint);
    request.feeds.insert(request.feeds.end(), step.feeds.begin(), step.feeds.end());
    std::vector<Tensor> values = feeds_;
    values.insert(values.end(), feeds.begin(), feeds.end());
    ASSIGN_OR_RETURN(Program program, partition(file_, devices_, placement_, request));
    auto executor = std::make_unique<Executor>(file_, devices_, std::move(program), runtime_);
    RETURN_IF_ERROR(executor->prepare(values));
    return executor;
  }

  Result<Planned*> planned(int kind, const std::vector<Tensor>& feeds) {
    auto& [request, plans] = kinds_[static_cast<size_t>(kind)];
    for (Planned& plan : plans) {
      auto same = [](const Tensor& a, const Tensor& b) { return a.shape() == b.shape(); };
      if (std::equal(feeds.begin(), feeds.end(), plan.feeds.begin(), plan.feeds.end(), same)) return &plan;
    }
    Planned plan;
    for (const Tensor& feed : feeds) {
      ASSIGN_OR_RETURN(Tensor room, Tensor::allocate(feed.dtype(), feed.shape()));
      copy_elements(feed, room);
      plan.feeds.push_back(std::move(room));
    }
    ASSIGN_OR_RETURN(plan.executor, prepare(request, plan.feeds));
    RETURN_IF_ERROR(check_limits(*plan.executor));
    if (plans.size() == kPlansPerKind) {
      if (last_ == plans.front().executor.get()) last_ = nullptr;
      plans.pop_front();
    }
    plans.push_back(std::move(plan));
    return &plans.back();
  }

  /// Once: memory for the largest of what is planned by now.
  Status map_blocks() {
    if (std::exchange(mapped_, true)) return ok_status();
    for (DeviceId d = 0; d < devices_.size(); ++d) {
      const Executor* largest = largest_plan(d);
      RETURN_IF_ERROR(runtime_.pools[d]->map_block(largest ? largest->plan().devices[d].bytes : 0));
    }
    return ok_status();
  }

  /// To the devices' blocks, or to memory of its own where they are too small or the step is to run beside others.
  Status bind(Executor& executor, OwnMemory& own, bool apart = false) {
    std::vector<std::byte*> blocks;
    for (DeviceId d = 0; d < devices_.size(); ++d) {
      int64_t bytes = executor.plan().devices[d].bytes;
      blocks.push_back(runtime_.pools[d]->block());
      if (bytes == 0 || (!apart && bytes <= runtime_.pools[d]->block_bytes())) continue;
      if (devices_.at(d).kind == DeviceKind::kCuda) {
        ASSIGN_OR_RETURN(Tensor block, runtime_.pools[d]->allocate(DType::kInt8, Shape{bytes}));
        blocks.back() = block.data<std::byte>();
        own.on_gpus.push_back(std::move(block));
        continue;
      }
      own.mappings.push_back(Mapping::map(static_cast<size_t>(bytes)));
      if (!own.mappings.back().valid()) return resource_exhausted(cat("no ", bytes_text(bytes), " for ", devices_.at(d).name));
      blocks.back() = own.mappings.back().data();
    }
    return executor.bind(std::move(blocks));
  }

  const Executor* largest_plan(DeviceId d) const {
    const Executor* largest = steps_.get();
    for (const Kind& kind : kinds_) {
      for (const Planned& plan : kind.plans) {
        const Executor* e = plan.executor.get();
        if (!largest || e->plan().devices[d].bytes > largest->plan().devices[d].bytes) largest = e;
      }
    }
    return largest;
  }

  Variable& state_of(NodeId node) const {
    Attrs attrs = file_.graph.attrs(node);
    const std::string& shared = attrs.text("shared_name");
    return runtime_.variables[placement_.device(node)]->find_or_create(
        attrs.text("container"), shared.empty() ? std::string(file_.graph.name(node)) : shared, attrs.type("dtype"), attrs.shape("shape"));
  }

  std::string producer(const Executor& e, ValueId v) const { return std::string(file_.graph.name(e.program().values[v].tensor.node)); }

  Status check_limits(const Executor& e) const {
    for (DeviceId d = 0; d < devices_.size(); ++d) {
      const DevicePlan& plan = e.plan().devices[d];
      int64_t limit = runtime_.pools[d]->limit() ? runtime_.pools[d]->limit() : machine_memory_bytes();
      // Constants are there already, and perhaps some of the variables.
      int64_t present = runtime_.pools[d]->persistent_bytes(), variables = declared_variable_bytes(file_.graph, e.program(), d);
      for (const auto& [name, bytes] : runtime_.variables[d]->sizes()) variables -= bytes;
      variables = std::max<int64_t>(variables, 0);
      if (variables <= limit && plan.bytes <= limit - present - variables) continue;
      std::string text = cat(devices_.at(d).name, " needs ", bytes_text(plan.bytes), ", its limit is ", bytes_text(limit));
      if (present > 0) append(text, ", ", bytes_text(present), " of it taken by constants and variables");
      if (variables > 0) append(text, ", and ", bytes_text(variables), " are for variables");
      append(text, "; live at the peak:");
      for (const auto& [v, bytes] : plan.live_at_peak) append(text, " ", producer(e, v), " (", bytes_text(bytes), ")");
      return resource_exhausted(std::move(text));
    }
    return ok_status();
  }

  const GraphFile& file_;
  const DeviceSet& devices_;
  const Placement& placement_;
  SessionOptions options_;
  std::vector<Tensor> feeds_;
  PoolParallel parallel_;
  Runtime runtime_;
  std::unique_ptr<Executor> steps_;  // of the options' fetches and targets; null if there are none
  std::deque<Kind> kinds_;
  std::atomic<Executor*> last_ = nullptr;         // that run_step() ran
  OwnMemory own_;
  bool mapped_ = false;
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
