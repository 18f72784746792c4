// The flat launches where GPUs are involved: copies beside other work, with waits where their results are used or their
// sources overwritten; and runs of launches that are recorded.
#include <algorithm>
#include <map>

#include "core/run/executor.h"
#include "core/run/gpu_kernels.h"

namespace emplace {
namespace {

constexpr StepId kLookAhead = 4096;  // steps; a wait that comes too early is still right

}  // namespace

int64_t Executor::planned_bytes(ValueId v) const {
  return plan_.values[v].shape.num_elements() * static_cast<int64_t>(storage_size(program_.values[v].dtype));
}

// Do the two lie in the same bytes of one block?
bool Executor::overlap(ValueId a, ValueId b) const {
  const ValuePlan &p = plan_.values[a], &q = plan_.values[b];
  if (p.storage != Storage::kBlock || q.storage != Storage::kBlock || program_.values[a].home != program_.values[b].home) return false;
  return p.offset < q.offset + std::max<int64_t>(1, planned_bytes(b)) && q.offset < p.offset + std::max<int64_t>(1, planned_bytes(a));
}

// The first step behind `copy` that writes over `v`; with `reads`, or that reads it under any name.
StepId Executor::next_use(StepId copy, ValueId v, bool reads) const {
  auto uses = [&](ValueId other) { return overlap(v, other); };
  auto end = static_cast<StepId>(program_.steps.size());
  for (StepId id = copy + 1; id < end; ++id) {
    const Step& s = program_.steps[id];
    if (id - copy > kLookAhead || plan_.modes[id] != StepMode::kDirect) {
      if (plan_.modes[id] != StepMode::kSkip || s.kind == StepKind::kLoop) return id;  // may look anywhere
      continue;
    }
    auto outputs = program_.outputs(s);
    if (std::any_of(outputs.begin(), outputs.end(), uses)) return id;
    auto inputs = program_.inputs(s);
    if (reads && std::any_of(inputs.begin(), inputs.end(), uses)) return id;
  }
  return end;
}

void Executor::run_copies_beside() {
  std::map<StepId, std::vector<Launch>> before;
  auto end = static_cast<StepId>(program_.steps.size());
  for (const Launch& launch : launches_) {
    const Step& s = program_.steps[launch.step];
    if (!launch.kernel || s.kind != StepKind::kCopy) continue;
    auto* copy = dynamic_cast<GpuCopyKernel*>(launch.kernel);
    if (!copy) continue;
    copy->run_beside();
    auto wait = [&](StepId at, Status (GpuCopyKernel::*what)()) {
      if (at == end) return;  // the end of the step waits for everything
      copy_waits_.push_back(std::make_unique<GpuCopyWait>(*copy, what));
      before[at].push_back({copy_waits_.back().get(), launch.context, launch.step});
    };
    wait(next_use(launch.step, program_.outputs(s)[0], true), &GpuCopyKernel::join);
    if (copy->needs_guard()) wait(next_use(launch.step, program_.inputs(s)[0], false), &GpuCopyKernel::guard);
  }
  if (before.empty()) return;
  std::vector<Launch> ordered;
  auto next = before.begin();
  for (const Launch& launch : launches_) {
    for (; next != before.end() && next->first <= launch.step; ++next) {
      ordered.insert(ordered.end(), next->second.begin(), next->second.end());
    }
    ordered.push_back(launch);
  }
  launches_ = std::move(ordered);
}

// A node whose work is the same at each step: its addresses are fixed, and so is what it reads in host memory.
GpuNodeKernel* Executor::recordable(const Launch& launch) const {
  if (!launch.kernel || !bound_[launch.step].records) return nullptr;
  const Step& s = program_.steps[launch.step];
  if (launch.kernel != bound_[launch.step].kernel.get() || graph_.type(s.node).signature->is_stateful) return nullptr;
  for (ValueId v : program_.inputs(s)) {
    if (program_.values[v].home == program_.host && plan_.values[v].storage != Storage::kFixed) return nullptr;
  }
  return dynamic_cast<GpuNodeKernel*>(launch.kernel);
}

void Executor::record_runs() {
  std::vector<Launch> shorter;
  for (size_t i = 0; i < launches_.size();) {
    GpuNodeKernel* first = recordable(launches_[i]);
    std::vector<RecordedRun::Part> parts;
    size_t end = i;
    for (; first && end < launches_.size(); ++end) {
      GpuNodeKernel* kernel = recordable(launches_[end]);
      if (!kernel || &kernel->gpu() != &first->gpu()) break;
      parts.push_back({kernel, launches_[end].context});
    }
    if (parts.size() < 2) {
      shorter.push_back(launches_[i++]);
      continue;
    }
    recorded_.push_back(std::make_unique<RecordedRun>(std::move(parts), first->gpu(), runtime_.gpu_options.exec == GpuExec::kGraph));
    shorter.push_back({recorded_.back().get(), launches_[i].context, launches_[i].step});
    i = end;
  }
  launches_ = std::move(shorter);
}

void Executor::order_gpu_launches() {
  if (!uses_gpus_ || runtime_.observer || runtime_.gpu_options.sync_every_node) return;
  run_copies_beside();
  if (runtime_.gpu_options.exec != GpuExec::kEager) record_runs();
}

}  // namespace emplace
