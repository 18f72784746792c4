#include "core/run/session_memory.h"

#include <algorithm>
#include <numeric>

#include "core/base/cat.h"
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

std::string bytes_text(int64_t bytes) { return cat(bytes, " bytes"); }

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
    const int64_t asked = runtime_.pools[d]->limit(),
                  limit = asked ? runtime_.pools[d]->usable() : machine_memory_bytes();
    // Constants are there already, and perhaps some of the variables.
    const int64_t present = runtime_.pools[d]->persistent_bytes(),
                  beside = bytes_beside(largest(plans, d), added.lane, d);
    int64_t variables = declared_variable_bytes(file_.graph, e.program(), d);
    for (const auto& [name, bytes] : runtime_.variables[d]->sizes()) variables -= bytes;
    variables = std::max<int64_t>(variables, 0);
    const int64_t kernels = plan.kept + plan.scratch - plan.optional;
    if (variables <= limit && kernels <= limit && plan.bytes <= limit - present - variables - beside - kernels)
      continue;
    std::string text = cat(devices_.at(d).name, " needs ", bytes_text(plan.bytes), ", its limit is ",
                           bytes_text(std::max(asked, limit)));
    if (limit < asked) append(text, " (", limit, " in whole pages)");
    if (present > 0) append(text, ", ", bytes_text(present), " of it taken by constants and variables");
    if (variables > 0) append(text, ", and ", bytes_text(variables), " are for variables");
    if (beside > 0) append(text, ", and ", bytes_text(beside), " for the steps beside");
    if (kernels > 0) append(text, ", and ", bytes_text(kernels), " for the work of kernels");
    append(text, "; live at the peak:");
    for (const auto& [v, bytes] : plan.live_at_peak)
      append(text, " ", file_.graph.name(e.program().values[v].tensor.node), " (", bytes_text(bytes), ")");
    return resource_exhausted(std::move(text));
  }
  return ok_status();
}

Status SessionMemory::map_blocks(const std::vector<LanePlan>& plans) {
  if (!parts_.empty()) return ok_status();
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
    if (devices_.at(d).kind == DeviceKind::kCuda) {
      ASSIGN_OR_RETURN(Tensor block, runtime_.pools[d]->allocate(DType::kInt8, Shape{bytes}));
      blocks.back() = block.data<std::byte>();
      own.on_gpus.push_back(std::move(block));
      continue;
    }
    own.mappings.push_back(Mapping::map(static_cast<size_t>(bytes)));
    if (!own.mappings.back().valid())
      return resource_exhausted(cat("no ", bytes_text(bytes), " for ", devices_.at(d).name));
    blocks.back() = own.mappings.back().data();
  }
  return executor.bind(std::move(blocks));
}

void SessionMemory::list_live(const Executor& executor, DeviceId d,
                              std::vector<std::pair<std::string, int64_t>>& out) const {
  for (const auto& [v, bytes] : executor.plan().devices[d].live_at_peak) {
    out.emplace_back(file_.graph.name(executor.program().values[v].tensor.node), bytes);
  }
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
  for (DeviceId d = 0; d < devices_.size(); ++d) {
    const DevicePool& pool = *runtime_.pools[d];
    const std::vector<const Executor*> by_lane = largest(plans, d);
    const int64_t alone = bytes_on(by_lane[0], d), together = bytes_beside(by_lane, by_lane.size(), d);
    DeviceMemory m;
    m.device = d;
    m.limit = pool.limit();
    m.planned = std::max(alone, together);
    const Workspace to_come = workspaces_to_come(plans, d);
    int64_t there = 0;
    for (const auto& [name, bytes] : runtime_.variables[d]->sizes()) there += bytes;
    m.variables = there + bytes_to_come(plans, d);
    m.constants = pool.persistent_bytes() - there + to_come.kept;
    const int64_t left =
        m.limit == 0 ? to_come.scratch : std::max<int64_t>(0, pool.usable() - m.planned - m.variables - m.constants);
    m.pool = std::max(pool.peak_transient_bytes(), std::min(to_come.scratch, left));
    m.peak = m.planned + m.variables + m.constants + m.pool;
    if (Gpu* gpu = runtime_.gpus[d].get()) m.context = gpu->overhead_bytes();
    if (alone > together) list_live(*by_lane[0], d, m.live_at_peak);
    for (size_t lane = 1; alone <= together && lane < by_lane.size(); ++lane) {
      if (by_lane[lane]) list_live(*by_lane[lane], d, m.live_at_peak);
    }
    for (auto& variable : runtime_.variables[d]->sizes()) m.live_at_peak.push_back(std::move(variable));
    std::stable_sort(m.live_at_peak.begin(), m.live_at_peak.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    all.push_back(std::move(m));
  }
  return all;
}

}  // namespace emplace
