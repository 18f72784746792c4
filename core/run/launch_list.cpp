#include "core/run/launch_list.h"

#include <utility>

#include "core/op/described_kernel.h"
#include "core/op/run_kernel.h"
#include "core/plan/memory_plan.h"
#include "core/run/arrivals.h"
#include "core/run/exchange.h"
#include "core/run/fused_groups.h"
#include "core/run/launch_trace.h"
#include "core/run/schedule.h"

namespace emplace {
namespace {

constexpr uint32_t kNoLaunch = ~uint32_t{0};

int64_t planned_bytes(const PreparedProgram& p, const Instruction& s) {
  int64_t bytes = 0;
  for (const ValueId v : p.program.outputs(s)) {
    const Shape& shape = p.plan.values[v].shape;
    if (shape.fully_known())
      bytes += shape.checked_num_elements().value_or(0) * static_cast<int64_t>(dtype_size(p.program.values[v].dtype));
  }
  return bytes;
}

/// Of an instruction by itself; a loop has its body's nodes.
LaunchedWork work_of(const PreparedProgram& p, InstructionId id) {
  const Instruction& s = p.program.instructions[id];
  LaunchedWork work;
  work.device = s.device;
  if (s.kind == InstructionKind::kCopy) {
    const PlacedValue& from = p.program.values[p.program.inputs(s)[0]];
    work.nodes = {from.tensor.node};
    work.from = from.home;
    work.device = p.program.values[p.program.outputs(s)[0]].home;
    work.reader = s.node;
  } else if (is_transfer(s)) {
    const Transfer& transfer = p.transfer(id);
    work.nodes = {s.node};
    work.from = s.device;
    work.peer = transfer.peer, work.transfer = transfer.copy;
    work.receives = s.kind == InstructionKind::kReceive;
  } else if (s.kind == InstructionKind::kLoop) {
    work.is_loop = true;
    for (InstructionId in = id + 1; in < s.body_end; ++in) {
      if (p.program.instructions[in].kind == InstructionKind::kNode)
        work.nodes.push_back(p.program.instructions[in].node);
    }
  } else {
    work.nodes = {s.node};
  }
  work.bytes = planned_bytes(p, s);
  return work;
}

void add_group(const PreparedProgram& p, const FusedGroup& group, LaunchedWork& work) {
  for (const InstructionId id : group.instructions) {
    if (id != group.first()) work.nodes.push_back(p.program.instructions[id].node);
  }
  if (group.reduction != kNoInstruction) work.nodes.push_back(p.program.instructions[group.reduction].node);
  if (group.follower != kNoInstruction) work.nodes.push_back(p.program.instructions[group.follower].node);
  work.bytes = planned_bytes(p, p.program.instructions[group.last()]);
}

}  // namespace

void LaunchList::lay_out() {
  // In its order a part waits only for what others do without waiting for it.
  if (p_.threads.inter_op > 1 && !p_.program.has_loops && p_.program.transfers.empty()) {
    auto schedule = std::make_unique<Schedule>(p_.file.graph, p_.program, p_.plan);
    if (schedule->worth_it()) schedule_ = std::move(schedule);
  }
  if (!schedule_) return plan_memory(p_.file, p_.program, p_.plan);
  Plan in_lanes = p_.plan;
  plan_memory(p_.file, p_.program, in_lanes, schedule_->lanes());
  if (!p_.has_room_for(in_lanes)) return plan_memory(p_.file, p_.program, p_.plan);
  p_.plan.values = std::move(in_lanes.values);
  p_.plan.devices = std::move(in_lanes.devices);
}

void LaunchList::fill(GpuLauncher& gpu, const SlotOperands& operands) {
  list(gpu, operands);
  gpu.order(launches_);
  if (p_.runtime.trace && !feed_ && p_.gpus.empty()) describe();
  if (!schedule_) return;
  schedule_->order_memory();
  schedule_->order_releases(operands.releases());
  schedule_->finish();
  launch_of_.assign(p_.program.instructions.size(), kNoLaunch);
  for (uint32_t i = 0; i < launches_.size(); ++i) launch_of_[launches_[i].instruction] = i;
  parallel_run_ = std::make_unique<ParallelRun>(*schedule_, p_.threads.inter_op);
}

void LaunchList::list(GpuLauncher& gpu, const SlotOperands& operands) {
  auto group = p_.plan.groups.begin();
  for (InstructionId id = 0; id < p_.program.instructions.size(); ++id) {
    const Instruction& s = p_.program.instructions[id];
    BoundInstruction& b = p_.bound[id];
    if (group != p_.plan.groups.end() && group->first() == id) {
      Kernel* kernel = gpu.bind_chain(id);
      if (!kernel) {
        auto fused = std::make_unique<FusedKernel>(*group, p_.program, p_.plan, p_.bound, p_.values);
        fused_.push_back(fused.get());
        made_.push_back(std::move(fused));
        kernel = with_arrivals(made_.back().get(), all_of(*group), operands);
      } else {
        fused_.push_back(nullptr);
      }
      launches_.push_back({kernel, &b.context, id});
      id = group++->last();
      continue;
    }
    const InstructionMode mode = p_.plan.modes[id];
    if (mode != InstructionMode::kSkip || s.kind == InstructionKind::kLoop || feed_)
      launches_.push_back(
          {mode == InstructionMode::kDirect ? with_arrivals(b.kernel.get(), {&id, 1}, operands) : nullptr, &b.context,
           id});
    if (s.kind != InstructionKind::kLoop) continue;
    id = s.body_end - 1;
    for (; group != p_.plan.groups.end() && group->first() <= id; ++group) fused_.push_back(nullptr);
  }
}

Kernel* LaunchList::with_arrivals(Kernel* kernel, std::span<const InstructionId> instructions,
                                  const SlotOperands& operands) {
  auto arrivals = Arrivals::find(p_, instructions, *kernel, operands.releases());
  if (!arrivals) return kernel;
  made_.push_back(std::move(arrivals));
  return made_.back().get();
}

Status LaunchList::run(int64_t step) {
  if (p_.program.rounds) p_.runtime.exchange->begin_rounds(p_.program.rounds);
  if (traced_ && p_.runtime.trace->records(step)) return run_traced(step);
  if (parallel_run_) return run_in_parallel(step);
  return feed_ ? run_watched(step) : run_in_order(step);
}

Status LaunchList::run_launch(const Launch& launch, int64_t step) {
  if (!launch.kernel) return interpreter_.run(launch.instruction);
  launch.context->step_ = step;
  Status status = run_kernel(*launch.kernel, *launch.context);
  if (status.ok()) return ok_status();
  return p_.blame(std::move(status), launch.instruction);
}

Status LaunchList::run_in_order(int64_t step) { return run_part(launches_, step); }

Status LaunchList::run_part(std::span<const Launch> part, int64_t step) {
  for (const Launch& launch : part) {
    if (p_.runtime.stop.asked()) return p_.runtime.stop.status();
    if (Status status = run_launch(launch, step); !status.ok()) return status;
  }
  return ok_status();
}

// Only direct launches are reported here; the frame interpreter reports its instructions, which loops repeat.
Status LaunchList::run_watched(int64_t step) {
  feed_->begin();
  for (const Launch& launch : launches_) {
    if (p_.runtime.stop.asked()) return p_.runtime.stop.status();
    if (launch.kernel) feed_->starting(launch.instruction);
    RETURN_IF_ERROR(run_launch(launch, step));
    if (launch.kernel) RETURN_IF_ERROR(feed_->finished(launch.instruction, launch.context->outputs_));
  }
  return ok_status();
}

Status LaunchList::run_in_parallel(int64_t step) {
  return parallel_run_->run([&](InstructionId id) {
    if (launch_of_[id] == kNoLaunch) return ok_status();
    if (p_.runtime.stop.asked()) return p_.runtime.stop.status();
    return run_launch(launches_[launch_of_[id]], step);
  });
}

Status LaunchList::run_traced(int64_t step) {
  return parallel_run_ ? run_traced_in_parallel(step) : run_traced_in_order(step);
}

// A launch begins when the one before it has ended.
Status LaunchList::run_traced_in_order(int64_t step) {
  LaunchTrace& trace = *p_.runtime.trace;
  uint32_t begin = 0;
  int64_t now = trace.now();
  for (const TraceBlocks::Block& block : traced_->of_step()) {
    RETURN_IF_ERROR(run_part({launches_.data() + begin, block.end - begin}, step));
    const int64_t start = std::exchange(now, trace.now());
    if (block.end == begin + 1) traced_->see(begin, now - start);
    trace.add(block.work, step, start, now);
    begin = block.end;
  }
  return ok_status();
}

Status LaunchList::run_traced_in_parallel(int64_t step) {
  LaunchTrace& trace = *p_.runtime.trace;
  return parallel_run_->run([&](InstructionId id) {
    if (launch_of_[id] == kNoLaunch) return ok_status();
    if (p_.runtime.stop.asked()) return p_.runtime.stop.status();
    const int64_t start = trace.now();
    Status status = run_launch(launches_[launch_of_[id]], step);
    if (status.ok()) trace.add(traced_->work(launch_of_[id]), step, start, trace.now());
    return status;
  });
}

void LaunchList::describe() {
  std::vector<uint32_t> numbers;
  auto group = p_.plan.groups.begin();
  for (const Launch& launch : launches_) {
    LaunchedWork work = work_of(p_, launch.instruction);
    while (group != p_.plan.groups.end() && group->first() < launch.instruction) ++group;
    if (group != p_.plan.groups.end() && group->first() == launch.instruction) add_group(p_, *group, work);
    numbers.push_back(p_.runtime.trace->add_work(std::move(work)));
  }
  if (!numbers.empty()) traced_ = std::make_unique<TraceBlocks>(*p_.runtime.trace, std::move(numbers));
}

StepFacts LaunchList::facts() const {
  StepFacts facts;
  auto group = p_.plan.groups.begin();
  for (const Launch& launch : launches_) {
    const InstructionId id = launch.instruction;
    LaunchedWork work = work_of(p_, id);
    LaunchFacts f;
    while (group != p_.plan.groups.end() && group->first() < id) ++group;
    if (group != p_.plan.groups.end() && group->first() == id) {
      add_group(p_, *group, work);
      f.begins_with_product = group->head != kNoInstruction;
      const auto number = static_cast<size_t>(group - p_.plan.groups.begin());
      if (fused_[number]) f.loops = fused_[number]->describe();
    }
    f.nodes = std::move(work.nodes);
    f.device = work.device;
    f.how = description(p_.bound[id].kernel.get());
    if (id < p_.plan.not_joined.size()) f.not_joined = p_.plan.not_joined[id];
    facts.launches.push_back(std::move(f));
  }
  std::vector<uint8_t> once(p_.file.graph.num_nodes());
  for (const ValueId v : p_.plan.worked_out) once[p_.program.values[v].tensor.node] = 1;
  for (InstructionId id = 0; id < p_.program.instructions.size(); ++id) {
    const Instruction& s = p_.program.instructions[id];
    const bool is_node = s.kind == InstructionKind::kNode || s.kind == InstructionKind::kConstant;
    if (is_node && p_.plan.modes[id] == InstructionMode::kSkip)
      (once[s.node] ? facts.once : facts.not_launched).push_back(s.node);
  }
  return facts;
}

}  // namespace emplace
