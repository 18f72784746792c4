#include "core/run/gpu_recorder.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/plan/memory_plan.h"
#include "core/run/schedule.h"

namespace emplace {
namespace {

constexpr size_t kMostBranched = 2048;  // parts of a recording whose pairs are looked at
constexpr int64_t kMostMemory = 2;      // times what one chain needs, for branches

// Always run, outside of loops.
bool is_plain(const Instruction& s) {
  return s.kind == InstructionKind::kNode && !s.may_be_dead && !s.in_loop && s.control == Control::kNone;
}

}  // namespace

/// Of one run of launches.
class GpuRecorder::FoundInputs final : public RunInputs {
 public:
  explicit FoundInputs(GpuRecorder& recorder) : r_(recorder) {}
  void add_read(InstructionId id) { reads_.push_back(id); }
  void add_part(InstructionId id) {
    if (const std::vector<InstructionId>* chain = r_.fusion_.reads(id))
      parts_.insert(parts_.end(), chain->begin(), chain->end());
    else if (r_.p_.plan.modes[id] == InstructionMode::kPlanned)
      parts_.push_back(id);
  }
  bool empty() const { return reads_.empty() && parts_.empty(); }

  Status find(std::vector<const void*>& addresses) override {
    for (InstructionId id : reads_) RETURN_IF_ERROR(r_.interpreter_.run(id));
    for (InstructionId id : parts_) {
      RETURN_IF_ERROR(r_.p_.blame(r_.operands_.gather(id), id));
      for (const Tensor& t : r_.p_.bound[id].context.inputs_) addresses.push_back(t.raw());
      if (!r_.conflicts_.group_at(id)) RETURN_IF_ERROR(r_.p_.blame(r_.operands_.settle_outputs(id), id));
    }
    return ok_status();
  }
  void let_go() override {
    for (InstructionId id : parts_) {
      r_.operands_.let_go_of_inputs(id);
      r_.operands_.release(id);
    }
  }

 private:
  GpuRecorder& r_;
  std::vector<InstructionId> reads_, parts_;
};

/// What is launched for one: its failure is that of the part that failed.
class GpuRecorder::RecordedLaunch final : public Kernel {
 public:
  RecordedLaunch(const PreparedProgram& p, std::vector<RecordedRun::Part> parts, std::unique_ptr<RunInputs> inputs,
                 Gpu& gpu)
      : p_(p),
        run_(std::move(parts), std::move(inputs), gpu, p.runtime.gpu_options.exec == GpuExec::kGraph,
             p.runtime.gpu_options.log) {}
  Status run(KernelContext& c) override {
    Status status = run_.run(c);
    const InstructionId failed = run_.failed_instruction();
    return status.ok() || failed == kNoInstruction ? status : p_.blame(std::move(status), failed);
  }

 private:
  const PreparedProgram& p_;
  RecordedRun run_;
};

bool GpuRecorder::records_runs() const {
  const GpuRunOptions& o = p_.runtime.gpu_options;
  return !p_.runtime.observer && !o.sync_every_node && o.exec != GpuExec::kEager;
}

// A node on a GPU whose outputs have a fixed place, but not its inputs: they are variables, or what only hands them on.
bool GpuRecorder::finds_inputs(InstructionId id) const {
  const Instruction& s = p_.program.instructions[id];
  if (p_.plan.modes[id] != InstructionMode::kPlanned || !is_plain(s) || !p_.bound[id].rehearsed) return false;
  const NodeType& type = p_.file.graph.type(s.node);
  const bool writes = std::any_of(type.input_types.begin(), type.input_types.end(),
                                  [](DType t) { return is_ref(t) || t == DType::kResource; });
  auto outputs = p_.program.outputs(s);
  return !writes && std::all_of(outputs.begin(), outputs.end(),
                                [&](ValueId v) { return p_.plan.values[v].storage == Storage::kBlock; });
}

// The node of a launch whose work is the same at each step, but perhaps for the addresses of what it reads in the GPU's
// memory.
GpuNodeKernel* GpuRecorder::recordable(const Launch& launch) const {
  if (GpuNodeKernel* chain = fusion_.launched(launch.instruction)) return chain;
  const BoundInstruction& b = p_.bound[launch.instruction];
  const bool direct = launch.kernel && launch.kernel == b.kernel.get();
  if (!b.records || !(direct || (!launch.kernel && finds_inputs(launch.instruction)))) return nullptr;
  const Instruction& s = p_.program.instructions[launch.instruction];
  if (p_.file.graph.type(s.node).signature->is_stateful) return nullptr;
  for (ValueId v : p_.program.inputs(s)) {
    const PlacedValue& value = p_.program.values[v];
    if (!is_ref(value.dtype) && value.home == p_.program.host && p_.plan.values[v].storage != Storage::kFixed)
      return nullptr;
  }
  for (ValueId v : p_.program.outputs(s)) {
    if (p_.program.values[v].home == p_.program.host) return nullptr;  // made by host code
  }
  return b.gpu_node;
}

// Host code that finds a variable or its value for others. Among launches that write no variable it may come
// first.
bool GpuRecorder::only_reads(const Launch& launch) const {
  const Instruction& s = p_.program.instructions[launch.instruction];
  if (launch.kernel || !is_plain(s)) return false;
  const OpTraits& op = p_.file.graph.traits(s.node);
  auto inputs = p_.program.inputs(s);
  const bool hands_on = op.identity && std::all_of(inputs.begin(), inputs.end(), [&](ValueId v) {
                          return p_.plan.values[v].storage == Storage::kSlot;
                        });
  return hands_on || op.variable || op.reads_variable;
}

// Branches hand on memory among their own instructions only, unless that takes much more of it, or leaves less than as
// much again (for scratch, and for what other kinds of steps need).
void GpuRecorder::lay_out() {
  Plan in_branches = p_.plan;
  plan_memory(p_.file, p_.program, p_.plan);
  if (!records_runs() || p_.program.has_loops) return;
  std::vector<uint8_t> branches = Schedule(p_.file.graph, p_.program, in_branches).lanes();
  plan_memory(p_.file, p_.program, in_branches, branches);
  if (!p_.has_room_for(in_branches, 2)) return;
  for (DeviceId d = 0; d < p_.devices.size(); ++d) {
    if (in_branches.devices[d].bytes > kMostMemory * p_.plan.devices[d].bytes) return;
  }
  p_.plan.values = std::move(in_branches.values);
  p_.plan.devices = std::move(in_branches.devices);
  branches_ = std::move(branches);
}

// A step does without recordings.
void GpuRecorder::count_scratch() {
  scratch_bytes_.assign(p_.devices.size(), {});
  if (p_.gpus.empty() || !records_runs()) return;
  std::vector<int64_t> others(p_.devices.size());
  for (InstructionId id = 0; id < p_.program.instructions.size(); ++id) {
    const BoundInstruction& b = p_.bound[id];
    const DeviceId d = p_.program.instructions[id].device;
    if (!b.kernel || !p_.on_cuda(d) || !(b.prepared || b.rehearsed)) continue;
    const bool recorded = b.records && (p_.plan.modes[id] == InstructionMode::kDirect || finds_inputs(id));
    int64_t& most = recorded ? scratch_bytes_[d][lane(id)] : others[d];
    most = std::max(most, b.kernel->workspace().scratch);
  }
  for (DeviceId d = 0; d < p_.devices.size(); ++d) {
    const auto& lanes = scratch_bytes_[d];
    const int64_t more = std::accumulate(lanes.begin(), lanes.end(), others[d]) - p_.plan.devices[d].scratch;
    if (more <= 0) continue;
    p_.plan.devices[d].scratch += more;
    p_.plan.devices[d].optional += more;
  }
}

RecordedScratch* GpuRecorder::scratch(InstructionId id) {
  const DeviceId device = p_.program.instructions[id].device;
  std::unique_ptr<RecordedScratch>& found = scratch_[device][lane(id)];
  if (!found) found = std::make_unique<RecordedScratch>(*p_.runtime.pools[device], scratch_bytes_[device][lane(id)]);
  return found.get();
}

// Each part waits for the last one of every other branch that it conflicts with: that one waits for the ones before it.
void GpuRecorder::find_branches(std::vector<RecordedRun::Part>& parts) const {
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
      if (found[parts[j].branch] || !conflicts_.conflict(parts[j].instruction, parts[i].instruction)) continue;
      found[parts[j].branch] = true;
      parts[i].after.push_back(static_cast<uint32_t>(j));
    }
  }
}

// The recorded run that begins with launch `begin`, if at least two launches can be part of it; `end`: behind the last.
std::unique_ptr<Kernel> GpuRecorder::run_from(const std::vector<Launch>& launches, size_t begin, size_t& end) {
  GpuNodeKernel* first = recordable(launches[begin]);
  if (!first) return nullptr;
  std::vector<RecordedRun::Part> parts;
  auto inputs = std::make_unique<FoundInputs>(*this);
  std::vector<InstructionId> reads;  // since the last part
  for (size_t at = begin; at < launches.size(); ++at) {
    const Launch& launch = launches[at];
    if (only_reads(launch)) {
      reads.push_back(launch.instruction);
      continue;
    }
    GpuNodeKernel* kernel = recordable(launch);
    if (!kernel || &kernel->gpu() != &first->gpu()) break;
    for (InstructionId id : std::exchange(reads, {})) inputs->add_read(id);
    inputs->add_part(launch.instruction);
    parts.push_back({kernel, launch.context, scratch(launch.instruction), launch.instruction});
    end = at + 1;
  }
  if (parts.size() < 2) return nullptr;
  find_branches(parts);
  std::unique_ptr<RunInputs> found;
  if (!inputs->empty()) found = std::move(inputs);
  return std::make_unique<RecordedLaunch>(p_, std::move(parts), std::move(found), first->gpu());
}

void GpuRecorder::record(std::vector<Launch>& launches) {
  if (!records_runs()) return;
  std::vector<Launch> shorter;
  scratch_.resize(p_.devices.size());
  for (size_t i = 0; i < launches.size();) {
    size_t end = i + 1;
    std::unique_ptr<Kernel> run = run_from(launches, i, end);
    if (!run) {
      shorter.push_back(launches[i++]);
      continue;
    }
    recorded_.push_back(std::move(run));
    shorter.push_back({recorded_.back().get(), launches[i].context, launches[i].instruction});
    i = end;
  }
  launches = std::move(shorter);
}

}  // namespace emplace
