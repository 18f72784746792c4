// Session over Executor: one program for the steps, one for each run_nodes(); memory and variables are shared.
#include "core/run/session.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/device/memory_pool.h"
#include "core/partition/program.h"
#include "core/plan/plan.h"
#include "core/run/executor.h"
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
    ASSIGN_OR_RETURN(steps_, prepare(options_.fetches, options_.targets));
    std::vector<std::byte*> blocks;
    for (DeviceId d = 0; d < devices_.size(); ++d) {
      RETURN_IF_ERROR(check_limit(d));
      RETURN_IF_ERROR(runtime_.pools[d]->map_block(steps_->plan().devices[d].bytes));
      blocks.push_back(runtime_.pools[d]->block());
    }
    steps_->bind(std::move(blocks));
    return ok_status();
  }

  Status run_nodes(const std::vector<NodeId>& nodes) override {
    ASSIGN_OR_RETURN(auto once, prepare({}, nodes));
    std::vector<Mapping> larger;  // blocks where the steps' are too small
    std::vector<Tensor> larger_on_gpu;
    std::vector<std::byte*> blocks;
    for (DeviceId d = 0; d < devices_.size(); ++d) {
      int64_t bytes = once->plan().devices[d].bytes;
      blocks.push_back(runtime_.pools[d]->block());
      if (bytes <= runtime_.pools[d]->block_bytes()) continue;
      if (devices_.at(d).kind == DeviceKind::kCuda) {
        ASSIGN_OR_RETURN(Tensor block, runtime_.pools[d]->allocate(DType::kInt8, Shape{bytes}));
        blocks.back() = block.data<std::byte>();
        larger_on_gpu.push_back(std::move(block));
        continue;
      }
      larger.push_back(Mapping::map(static_cast<size_t>(bytes)));
      if (!larger.back().valid()) return resource_exhausted(cat("no ", bytes_text(bytes), " for ", devices_.at(d).name));
      blocks.back() = larger.back().data();
    }
    once->bind(std::move(blocks));
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

  std::vector<DeviceMemory> memory() const override {
    std::vector<DeviceMemory> all;
    for (DeviceId d = 0; d < devices_.size(); ++d) {
      const DevicePool& pool = *runtime_.pools[d];
      DeviceMemory m;
      m.device = d;
      m.limit = pool.limit();
      m.planned = steps_->plan().devices[d].bytes;
      m.variables = pool.persistent_bytes();
      m.pool = pool.peak_transient_bytes();
      m.peak = m.planned + m.variables + m.pool;
      for (const auto& [v, bytes] : steps_->plan().devices[d].live_at_peak) {
        m.live_at_peak.emplace_back(producer(v), bytes);
      }
      for (auto& variable : runtime_.variables[d]->sizes()) m.live_at_peak.push_back(std::move(variable));
      std::stable_sort(m.live_at_peak.begin(), m.live_at_peak.end(),
                       [](const auto& a, const auto& b) { return a.second > b.second; });
      all.push_back(std::move(m));
    }
    return all;
  }

  int64_t copies_per_step() const override { return steps_->program().num_copies; }
  int64_t copy_bytes_per_step() const override { return steps_->copy_bytes(); }

 private:
  Result<std::unique_ptr<Executor>> prepare(const std::vector<Endpoint>& fetches, const std::vector<NodeId>& targets) {
    Request request{fetches, targets, {}};
    for (const auto& [endpoint, value] : options_.feeds) request.feeds.push_back(endpoint);
    ASSIGN_OR_RETURN(Program program, partition(file_, devices_, placement_, request));
    auto executor = std::make_unique<Executor>(file_, devices_, std::move(program), runtime_);
    RETURN_IF_ERROR(executor->prepare(feeds_));
    return executor;
  }

  std::string producer(ValueId v) const { return std::string(file_.graph.name(steps_->program().values[v].tensor.node)); }

  Status check_limit(DeviceId d) const {
    const DevicePlan& plan = steps_->plan().devices[d];
    int64_t limit = runtime_.pools[d]->limit() ? runtime_.pools[d]->limit() : machine_memory_bytes();
    if (plan.bytes <= limit) return ok_status();
    std::string text = cat(devices_.at(d).name, " needs ", bytes_text(plan.bytes), ", its limit is ", bytes_text(limit),
                           "; live at the peak:");
    for (const auto& [v, bytes] : plan.live_at_peak) append(text, " ", producer(v), " (", bytes_text(bytes), ")");
    return resource_exhausted(std::move(text));
  }

  const GraphFile& file_;
  const DeviceSet& devices_;
  const Placement& placement_;
  SessionOptions options_;
  std::vector<Tensor> feeds_;
  PoolParallel parallel_;
  Runtime runtime_;
  std::unique_ptr<Executor> steps_;
  int64_t step_ = 0;
};

}  // namespace

Result<std::unique_ptr<Session>> Session::create(const GraphFile& file, const DeviceSet& devices,
                                                 const Placement& placement, SessionOptions options) {
  auto session = std::make_unique<SessionImpl>(file, devices, placement, std::move(options));
  RETURN_IF_ERROR(session->prepare_steps());
  return std::unique_ptr<Session>(std::move(session));
}

}  // namespace emplace
