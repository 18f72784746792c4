// The flat launches where GPUs are involved: copies beside other work, with waits where their results are used or their
// sources overwritten; and runs of launches that are recorded.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <utility>

#include "core/run/executor.h"
#include "core/run/gpu_kernels.h"
#include "core/run/schedule.h"

namespace emplace {
namespace {

constexpr InstructionId kLookAhead = 4096;  // steps; a wait that comes too early is still right
constexpr size_t kMostBranched = 2048;      // parts of a recording whose pairs are looked at
constexpr int64_t kMostMemory = 2;          // times what one chain needs, for branches

}  // namespace

int64_t Executor::planned_bytes(ValueId v) const {
  return plan_.values[v].shape.num_elements() * static_cast<int64_t>(storage_size(program_.values[v].dtype));
}

// Do the two lie in the same bytes of one block?
bool Executor::overlap(ValueId a, ValueId b) const {
  const ValuePlan &p = plan_.values[a], &q = plan_.values[b];
  if (p.storage != Storage::kBlock || q.storage != Storage::kBlock ||
      program_.values[a].home != program_.values[b].home)
    return false;
  return p.offset < q.offset + std::max<int64_t>(1, planned_bytes(b)) &&
         q.offset < p.offset + std::max<int64_t>(1, planned_bytes(a));
}

// The first step behind `copy` that writes over `v`; with `reads`, or that reads it under any name.
InstructionId Executor::next_use(InstructionId copy, ValueId v, bool reads) const {
  auto uses = [&](ValueId other) { return overlap(v, other); };
  auto end = static_cast<InstructionId>(program_.instructions.size());
  for (InstructionId id = copy + 1; id < end; ++id) {
    const Instruction& s = program_.instructions[id];
    if (id - copy > kLookAhead || plan_.modes[id] != InstructionMode::kDirect) {
      if (plan_.modes[id] != InstructionMode::kSkip || s.kind == InstructionKind::kLoop)
        return id;  // may look anywhere
      continue;
    }
    auto outputs = program_.outputs(s);
    if (std::any_of(outputs.begin(), outputs.end(), uses)) return id;
    auto inputs = program_.inputs(s);
    if (reads && std::any_of(inputs.begin(), inputs.end(), uses)) return id;
  }
  return end;
}

// By device: the steps that are launched on a GPU.
std::vector<std::vector<InstructionId>> Executor::gpu_steps() const {
  std::vector<std::vector<InstructionId>> steps(devices_.size());
  for (const Launch& launch : launches_) {
    const Instruction& s = program_.instructions[launch.step];
    if (s.kind == InstructionKind::kNode && on_cuda(s.device)) steps[s.device].push_back(launch.step);
  }
  return steps;
}

void Executor::run_copies_beside() {
  const std::vector<std::vector<InstructionId>> on_gpus = gpu_steps();
  const bool several =
      std::count_if(on_gpus.begin(), on_gpus.end(), [](const auto& steps) { return !steps.empty(); }) > 1;
  std::map<InstructionId, std::vector<Launch>> before;
  auto end = static_cast<InstructionId>(program_.instructions.size());
  for (const Launch& launch : launches_) {
    const Instruction& s = program_.instructions[launch.step];
    if (!launch.kernel || s.kind != InstructionKind::kCopy) continue;
    auto* copy = dynamic_cast<GpuCopyKernel*>(launch.kernel);
    if (!copy) continue;
    copy->run_beside();
    auto call = [&](InstructionId at, Status (GpuCopyKernel::*what)()) {
      if (at == end) return;  // the end of the step waits for everything
      if (const FusedGroup* group = group_at(at)) at = group->first();
      copy_calls_.push_back(std::make_unique<GpuCopyCall>(*copy, what));
      before[at].push_back({copy_calls_.back().get(), launch.context, launch.step});
    };
    call(next_use(launch.step, program_.outputs(s)[0], true), &GpuCopyKernel::join);
    if (!copy->needs_guard()) continue;
    call(next_use(launch.step, program_.inputs(s)[0], false), &GpuCopyKernel::guard);
    // What the source's GPU is given in between, because other GPUs come first, is nothing that the copy waits for.
    const PlacedValue& source = program_.values[program_.inputs(s)[0]];
    if (!several || source.producer == kNoInstruction) continue;
    const std::vector<InstructionId>& steps = on_gpus[source.home];
    auto next = std::upper_bound(steps.begin(), steps.end(), source.producer);
    const FusedGroup* group = group_at(source.producer);
    if (next != steps.end() && *next < launch.step)
      call((group ? group->last() : source.producer) + 1, &GpuCopyKernel::mark);
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

// A node on a GPU whose outputs have a fixed place, but not its inputs: they are variables, or what only hands them on.
bool Executor::finds_inputs(InstructionId id) const {
  const Instruction& s = program_.instructions[id];
  if (plan_.modes[id] != InstructionMode::kPlanned || s.kind != InstructionKind::kNode || s.may_be_dead || s.in_loop ||
      s.control != Control::kNone)
    return false;
  if (!bound_[id].rehearsed) return false;
  const NodeType& type = graph_.type(s.node);
  const bool writes = std::any_of(type.input_types.begin(), type.input_types.end(),
                                  [](DType t) { return is_ref(t) || t == DType::kResource; });
  auto outputs = program_.outputs(s);
  return !writes && std::all_of(outputs.begin(), outputs.end(),
                                [&](ValueId v) { return plan_.values[v].storage == Storage::kBlock; });
}

// The node of a launch whose work is the same at each step, but perhaps for the addresses of what it reads in the GPU's
// memory.
GpuNodeKernel* Executor::recordable(const Launch& launch) const {
  if (chains_.contains(launch.step)) return dynamic_cast<GpuNodeKernel*>(launch.kernel);
  const BoundInstruction& b = bound_[launch.step];
  const bool direct = launch.kernel && launch.kernel == b.kernel.get();
  if (!b.records || !(direct || (!launch.kernel && finds_inputs(launch.step)))) return nullptr;
  const Instruction& s = program_.instructions[launch.step];
  if (graph_.type(s.node).signature->is_stateful) return nullptr;
  for (ValueId v : program_.inputs(s)) {
    const PlacedValue& value = program_.values[v];
    if (!is_ref(value.dtype) && value.home == program_.host && plan_.values[v].storage != Storage::kFixed)
      return nullptr;
  }
  for (ValueId v : program_.outputs(s)) {
    if (program_.values[v].home == program_.host) return nullptr;  // made by host code
  }
  return dynamic_cast<GpuNodeKernel*>(b.kernel.get());
}

// Host code that finds a variable or its value for others. Among launches that write no variable it may as well come
// first.
bool Executor::only_reads(const Launch& launch) const {
  const Instruction& s = program_.instructions[launch.step];
  if (launch.kernel || s.kind != InstructionKind::kNode || s.may_be_dead || s.in_loop || s.control != Control::kNone)
    return false;
  const std::string_view op = graph_.type(s.node).op;
  auto inputs = program_.inputs(s);
  const bool hands_on = op == "Identity" && std::all_of(inputs.begin(), inputs.end(), [&](ValueId v) {
                          return plan_.values[v].storage == Storage::kSlot;
                        });
  return hands_on || op == "VariableV2" || op == "Variable" || op == "VarHandleOp" || op == "ReadVariableOp";
}

/// Of one run of launches.
class Executor::FoundInputs final : public RunInputs {
 public:
  explicit FoundInputs(Executor& executor) : executor_(executor) {}
  void add_read(InstructionId id) { reads_.push_back(id); }
  void add_part(InstructionId id) {
    auto chain = executor_.chains_.find(id);
    if (chain != executor_.chains_.end())
      parts_.insert(parts_.end(), chain->second.found.reads.begin(), chain->second.found.reads.end());
    else if (executor_.plan_.modes[id] == InstructionMode::kPlanned)
      parts_.push_back(id);
  }
  bool empty() const { return reads_.empty() && parts_.empty(); }

  Status find(std::vector<const void*>& addresses) override {
    for (InstructionId id : reads_) RETURN_IF_ERROR(executor_.run_step(id));
    for (InstructionId id : parts_) {
      RETURN_IF_ERROR(executor_.failed(executor_.gather(id), id));
      for (const Tensor& t : executor_.bound_[id].context.inputs_) addresses.push_back(t.raw());
      if (!executor_.group_at(id)) RETURN_IF_ERROR(executor_.failed(executor_.settle_outputs(id), id));
    }
    return ok_status();
  }
  void let_go() override {
    for (InstructionId id : parts_) {
      for (Tensor& t : executor_.bound_[id].context.inputs_) t = Tensor();
      executor_.release(id);
    }
  }

 private:
  Executor& executor_;
  std::vector<InstructionId> reads_, parts_;
};

bool Executor::records_runs() const {
  return !runtime_.observer && !runtime_.gpu_options.sync_every_node && runtime_.gpu_options.exec != GpuExec::kEager;
}

// Branches hand on memory among their own steps only, unless that takes much more of it, or leaves less than as much
// again (for scratch, and for what other kinds of steps need).
void Executor::lay_out_branches() {
  Plan in_branches = plan_;
  plan_memory(file_, program_, plan_);
  if (!records_runs() || program_.has_loops) return;
  std::vector<uint8_t> branches = Schedule(graph_, program_, in_branches).lanes();
  plan_memory(file_, program_, in_branches, branches);
  if (!fits(in_branches, 2)) return;
  for (DeviceId d = 0; d < devices_.size(); ++d) {
    if (in_branches.devices[d].bytes > kMostMemory * plan_.devices[d].bytes) return;
  }
  plan_.values = std::move(in_branches.values);
  plan_.devices = std::move(in_branches.devices);
  branches_ = std::move(branches);
}

// Must `later` wait for `earlier`? If a step of one launch writes what one of the other reads or writes, under any
// name.
bool Executor::conflict(InstructionId earlier, InstructionId later) const {
  const FusedGroup *before = group_at(earlier), *after = group_at(later);
  if (!before && !after) return steps_conflict(earlier, later);
  auto steps_of = [](const FusedGroup* group, const InstructionId& id) {
    return group ? std::span<const InstructionId>(group->instructions) : std::span<const InstructionId>(&id, 1);
  };
  for (InstructionId a : steps_of(before, earlier)) {
    for (InstructionId b : steps_of(after, later)) {
      if (steps_conflict(a, b)) return true;
    }
  }
  return false;
}

bool Executor::steps_conflict(InstructionId earlier, InstructionId later) const {
  const Instruction &a = program_.instructions[earlier], &b = program_.instructions[later];
  auto same = [&](ValueId v, ValueId w) {
    const Storage storage = plan_.values[v].storage;
    if (storage == Storage::kTile || plan_.values[w].storage == Storage::kTile) return false;  // a group's own
    return v == w || storage == Storage::kSlot || overlap(v, w);
  };
  auto any = [&](std::span<const ValueId> written, std::span<const ValueId> used) {
    return std::any_of(written.begin(), written.end(), [&](ValueId v) {
      return std::any_of(used.begin(), used.end(), [&](ValueId w) { return same(v, w); });
    });
  };
  return any(program_.outputs(a), program_.inputs(b)) || any(program_.outputs(a), program_.outputs(b)) ||
         any(program_.outputs(b), program_.inputs(a));
}

// Each part waits for the last one of every other branch that it conflicts with: that one waits for the ones before it.
void Executor::find_branches(std::vector<RecordedRun::Part>& parts) const {
  if (branches_.empty() || parts.size() > kMostBranched) return;
  std::array<int, Schedule::kLanes> number{};  // of a lane of the schedule, by first use; 0: not used yet
  static_assert(Schedule::kLanes <= Gpu::kNumBranches);
  int used = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    int& n = number[branches_[parts[i].instruction]];
    if (n == 0) n = ++used;
    parts[i].branch = static_cast<uint8_t>(n - 1);
    std::array<bool, Gpu::kNumBranches> found{};
    found[parts[i].branch] = true;
    for (size_t j = i; j-- > 0;) {
      if (found[parts[j].branch] || !conflict(parts[j].instruction, parts[i].instruction)) continue;
      found[parts[j].branch] = true;
      parts[i].after.push_back(static_cast<uint32_t>(j));
    }
  }
}

// What recordings keep, and the most that a launch beside them takes, count as scratch; a step does without recordings.
void Executor::count_recorded_scratch() {
  recorded_bytes_.assign(devices_.size(), {});
  if (gpus_.empty() || !records_runs()) return;
  std::vector<int64_t> others(devices_.size());
  for (InstructionId id = 0; id < program_.instructions.size(); ++id) {
    const BoundInstruction& b = bound_[id];
    const DeviceId d = program_.instructions[id].device;
    if (!b.kernel || !on_cuda(d) || !(b.prepared || b.rehearsed)) continue;
    const bool recorded = b.records && (plan_.modes[id] == InstructionMode::kDirect || finds_inputs(id));
    int64_t& most = recorded ? recorded_bytes_[d][recorded_lane(id)] : others[d];
    most = std::max(most, b.kernel->workspace().scratch);
  }
  for (DeviceId d = 0; d < devices_.size(); ++d) {
    const auto& lanes = recorded_bytes_[d];
    const int64_t more = std::accumulate(lanes.begin(), lanes.end(), others[d]) - plan_.devices[d].scratch;
    if (more <= 0) continue;
    plan_.devices[d].scratch += more;
    plan_.devices[d].optional += more;
  }
}

RecordedScratch* Executor::recorded_scratch(InstructionId id) {
  const DeviceId device = program_.instructions[id].device;
  std::unique_ptr<RecordedScratch>& scratch = recorded_scratch_[device][recorded_lane(id)];
  if (!scratch)
    scratch = std::make_unique<RecordedScratch>(*runtime_.pools[device], recorded_bytes_[device][recorded_lane(id)]);
  return scratch.get();
}

void Executor::record_runs() {
  std::vector<Launch> shorter;
  recorded_scratch_.resize(devices_.size());
  for (size_t i = 0; i < launches_.size();) {
    GpuNodeKernel* first = recordable(launches_[i]);
    std::vector<RecordedRun::Part> parts;
    auto inputs = std::make_unique<FoundInputs>(*this);
    std::vector<InstructionId> reads;  // since the last part
    size_t end = i;
    for (size_t at = i; first && at < launches_.size(); ++at) {
      const Launch& launch = launches_[at];
      if (only_reads(launch)) {
        reads.push_back(launch.step);
        continue;
      }
      GpuNodeKernel* kernel = recordable(launch);
      if (!kernel || &kernel->gpu() != &first->gpu()) break;
      for (InstructionId id : std::exchange(reads, {})) inputs->add_read(id);
      inputs->add_part(launch.step);
      parts.push_back({kernel, launch.context, recorded_scratch(launch.step), launch.step});
      end = at + 1;
    }
    if (parts.size() < 2) {
      shorter.push_back(launches_[i++]);
      continue;
    }
    find_branches(parts);
    std::unique_ptr<RunInputs> found;
    if (!inputs->empty()) found = std::move(inputs);
    recorded_.push_back(std::make_unique<RecordedRun>(std::move(parts), std::move(found), first->gpu(),
                                                      runtime_.gpu_options.exec == GpuExec::kGraph));
    shorter.push_back({recorded_.back().get(), launches_[i].context, launches_[i].step});
    i = end;
  }
  launches_ = std::move(shorter);
}

void Executor::order_gpu_launches() {
  if (gpus_.empty() || runtime_.observer || runtime_.gpu_options.sync_every_node) return;
  run_copies_beside();
  if (records_runs()) record_runs();
}

}  // namespace emplace
