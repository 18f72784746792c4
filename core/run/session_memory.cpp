#include "core/run/session_memory.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/base/cat.h"
#include "core/base/host_memory.h"
#include "core/base/units.h"
#include "core/plan/host_tensors.h"
#include "core/plan/planned_memory.h"

namespace emplace {
namespace {

constexpr int64_t kPartAlignment = 4096;

int64_t bytes_on(const Executor* e, DeviceId d) { return e ? e->plan().devices[d].bytes : 0; }

/// What the kernels of plans that have not run yet will take of the pool: of each lane the most, all lanes together.
Workspace workspaces_to_come(const std::vector<LanePlan>& plans, DeviceId d) {
  std::vector<int64_t> scratch(1);
  Workspace sum;
  for (const auto& [executor, lane] : plans) {
    if (executor->has_run()) continue;
    const DevicePlan& plan = executor->plan().devices[d];
    if (lane >= scratch.size()) scratch.resize(lane + 1);
    scratch[lane] = std::max(scratch[lane], plan.scratch);
    sum.kept += plan.kept;
  }
  sum.scratch = std::max(scratch[0], std::accumulate(scratch.begin() + 1, scratch.end(), int64_t{0}));
  return sum;
}

int64_t rounded(int64_t bytes) { return (bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment; }

/// Of all lanes but this one, those that may run beside it.
int64_t bytes_beside(const std::vector<const Executor*>& largest, size_t lane, DeviceId d) {
  int64_t sum = 0;
  for (size_t other = 1; lane > 0 && other < largest.size(); ++other) {
    if (other != lane) sum += rounded(bytes_on(largest[other], d));
  }
  return sum;
}

/// What a device is to hold, against its limit; both saturate.
class Needs {
 public:
  explicit Needs(int64_t limit) : limit_(limit) {}

  void add(std::string_view what, int64_t bytes) {
    if (bytes <= 0) return;
    append(list_, list_.empty() ? "" : ", ", size_text(bytes), " ", what);
    if (__builtin_add_overflow(sum_, bytes, &sum_)) sum_ = std::numeric_limits<int64_t>::max();
  }
  bool met() const { return sum_ <= limit_; }
  /// `asked`: the limit before it was cut to whole pages; 0: the host's.
  std::string text(int64_t asked) const {
    const std::string pages = limit_ < asked ? cat(" (", size_text(limit_), " in whole pages)") : std::string();
    return cat("needs ", size_text(sum_), " (", list_, "), its limit is ", size_text(std::max(asked, limit_)), pages,
               ": ", size_text(sum_ - limit_), " short");
  }

 private:
  int64_t limit_, sum_ = 0;
  std::string list_;
};

}  // namespace

std::vector<const Executor*> SessionMemory::largest(const std::vector<LanePlan>& plans, DeviceId d) const {
  std::vector<const Executor*> out(1);
  for (const auto& [executor, lane] : plans) {
    if (lane >= out.size()) out.resize(lane + 1);
    if (bytes_on(executor, d) > bytes_on(out[lane], d)) out[lane] = executor;
  }
  return out;
}

Status SessionMemory::check_limits(const LanePlan& added, const std::vector<LanePlan>& plans) const {
  const Executor& e = *added.executor;
  for (DeviceId d = 0; d < devices_.size(); ++d) {
    const DevicePlan& plan = e.plan().devices[d];
    const DevicePool& pool = *runtime_.pools[d];
    const int64_t asked = pool.limit();
    Needs needs(asked ? pool.usable() : HostMemory::of_process().limit());
    needs.add("for planned tensors", plan.bytes);
    // Constants are there already, and perhaps some of the variables.
    needs.add("taken by constants and variables", pool.persistent_bytes());
    int64_t variables = declared_variable_bytes(file_.graph, e.program(), d);
    for (const auto& [name, bytes] : runtime_.variables[d]->sizes()) variables -= bytes;
    needs.add("for variables", variables);
    if (!has_blocks_) needs.add("planned by other sessions", pool.block_bytes());
    needs.add("for the steps beside", bytes_beside(largest(plans, d), added.lane, d));
    needs.add("for the work of kernels", plan.kept + plan.scratch - plan.optional);
    if (asked == 0) needs.add("taken by the graph, its data and feeds", HostMemory::of_process().in_use_by_input());
    if (needs.met()) continue;
    std::string text = cat(devices_.at(d).name, " ", needs.text(asked));
    std::string_view before = "; live at the peak: ";
    for (const auto& [v, bytes] : plan.live_at_peak) {
      append(text, before, file_.graph.name(e.program().values[v].tensor.node), " (", size_text(bytes), ")");
      before = ", ";
    }
    return resource_exhausted(cat(text, "; a smaller batch needs less"));
  }
  return ok_status();
}

Status SessionMemory::map_blocks(const std::vector<LanePlan>& plans) {
  if (!parts_.empty()) return ok_status();
  has_blocks_ = runtime_.task->take_blocks();
  if (!has_blocks_) {
    parts_.resize(devices_.size());
    return ok_status();
  }
  for (DeviceId d = 0; d < devices_.size(); ++d) {
    const std::vector<const Executor*> by_lane = largest(plans, d);
    std::vector<Part>& parts = parts_.emplace_back();
    int64_t end = 0;
    for (const Executor* e : by_lane) {
      const bool alone = parts.empty();  // lane 0, in the place of all others
      parts.push_back({alone ? 0 : end, bytes_on(e, d)});
      if (!alone) end += rounded(bytes_on(e, d));
    }
    parts[0].bytes = std::max(parts[0].bytes, end);
    RETURN_IF_ERROR(runtime_.pools[d]->map_block(parts[0].bytes));
  }
  return ok_status();
}

Status SessionMemory::bind(Executor& executor, size_t lane, Own& own) {
  std::vector<std::byte*> blocks;
  for (DeviceId d = 0; d < devices_.size(); ++d) {
    const int64_t bytes = bytes_on(&executor, d);
    const Part part = lane < parts_[d].size() ? parts_[d][lane] : Part{};
    blocks.push_back(runtime_.pools[d]->block() + part.offset);
    if (bytes <= part.bytes) continue;
    // Within the device's limit, where the block is not this session's.
    if (devices_.at(d).kind == DeviceKind::kCuda || (!has_blocks_ && devices_.at(d).type != "CPU")) {
      ASSIGN_OR_RETURN(Tensor block, runtime_.pools[d]->allocate(DType::kInt8, Shape{bytes}));
      blocks.back() = block.data<std::byte>();
      own.on_gpus.push_back(std::move(block));
      continue;
    }
    own.mappings.push_back(Mapping::map(static_cast<size_t>(bytes), HostUse::kPlanned));
    if (!own.mappings.back().valid())
      return resource_exhausted(
          cat(devices_.at(d).name, ": ", Mapping::refusal(static_cast<size_t>(bytes), HostUse::kPlanned)));
    blocks.back() = own.mappings.back().data();
  }
  return executor.bind(blocks);
}

void SessionMemory::list_live(const Executor& executor, DeviceId d, LiveList& live) const {
  for (const auto& [v, bytes] : executor.plan().devices[d].live_at_peak)
    live.add(file_.graph.name(executor.program().values[v].tensor.node), bytes);
}

/// What is in the host's memory before a step begins.
int64_t SessionMemory::list_host_tensors(const std::vector<LanePlan>& plans, DeviceId d, LiveList& live) const {
  if (plans.empty() || plans[0].executor->program().host != d) return 0;
  int64_t sum = list_constants(file_.graph, live);
  std::set<const void*> seen;
  for (const LanePlan& plan : plans) {
    sum += list_once(file_.graph, plan.executor->program(), plan.executor->plan(), live);
    sum += list_feeds(file_.graph, plan.executor->program(), plan.executor->plan(), seen, live);
  }
  return sum;
}

/// Of variables that have no value yet.
int64_t SessionMemory::bytes_to_come(const std::vector<LanePlan>& plans, DeviceId d) const {
  int64_t most = 0, there = 0;
  for (const LanePlan& plan : plans)
    most = std::max(most, declared_variable_bytes(file_.graph, plan.executor->program(), d));
  for (const auto& [name, bytes] : runtime_.variables[d]->sizes()) there += bytes;
  return std::max<int64_t>(most - there, 0);
}

std::vector<DeviceMemory> SessionMemory::report(const std::vector<LanePlan>& plans) const {
  std::vector<DeviceMemory> all;
  for (DeviceId d = 0; d < devices_.size(); ++d) all.push_back(report_device(plans, d));
  return all;
}

DeviceMemory SessionMemory::report_device(const std::vector<LanePlan>& plans, DeviceId d) const {
  const DevicePool& pool = *runtime_.pools[d];
  const std::vector<const Executor*> by_lane = largest(plans, d);
  const int64_t alone = bytes_on(by_lane[0], d), together = bytes_beside(by_lane, by_lane.size(), d);
  LiveList live;
  DeviceMemory m;
  m.device = d;
  m.limit = pool.limit();
  m.planned = std::max(alone, together);
  if (alone > together) list_live(*by_lane[0], d, live);
  for (size_t lane = 1; alone <= together && lane < by_lane.size(); ++lane) {
    if (by_lane[lane]) list_live(*by_lane[lane], d, live);
  }
  live.add_rest(kRestOfBlock, m.planned);
  int64_t there = 0;
  for (const auto& [name, bytes] : runtime_.variables[d]->own_sizes()) live.add(name, bytes), there += bytes;
  for (const auto& [name, bytes] : runtime_.variables[d]->mapped_sizes()) m.mapped += bytes;
  m.variables = there + bytes_to_come(plans, d);
  live.add_rest(kRestOfVariables, m.variables);
  const Workspace to_come = workspaces_to_come(plans, d);
  m.constants = pool.persistent_bytes() - there + to_come.kept + list_host_tensors(plans, d, live);
  live.add_rest(devices_.at(d).type == "CPU" ? kRestOfConstants : kRestOfConstantsThere, m.constants);
  const int64_t left =
      m.limit == 0 ? to_come.scratch : std::max<int64_t>(0, pool.usable() - m.planned - m.variables - m.constants);
  m.pool = std::max(pool.peak_transient_bytes(), std::min(to_come.scratch, left));
  live.add_rest(kRestOfPool, m.pool);
  m.peak = m.planned + m.variables + m.constants + m.pool;
  if (Gpu* gpu = runtime_.gpus[d].get()) m.context = gpu->overhead_bytes();
  m.live_at_peak = live.take();
  return m;
}

}  // namespace emplace
