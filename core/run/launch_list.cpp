#include "core/run/launch_list.h"

#include <utility>

#include "core/plan/memory_plan.h"
#include "core/run/schedule.h"

namespace emplace {
namespace {

constexpr uint32_t kNoLaunch = ~uint32_t{0};

}  // namespace

void LaunchList::lay_out() {
  if (p_.threads.inter_op > 1 && !p_.program.has_loops) {
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
  list(gpu);
  gpu.order(launches_);
  if (!schedule_) return;
  schedule_->order_memory();
  schedule_->order_releases(operands.releases());
  schedule_->finish();
  launch_of_.assign(p_.program.instructions.size(), kNoLaunch);
  for (uint32_t i = 0; i < launches_.size(); ++i) launch_of_[launches_[i].instruction] = i;
  parallel_run_ = std::make_unique<ParallelRun>(*schedule_, p_.threads.inter_op);
}

void LaunchList::list(GpuLauncher& gpu) {
  auto group = p_.plan.groups.begin();
  for (InstructionId id = 0; id < p_.program.instructions.size(); ++id) {
    const Instruction& s = p_.program.instructions[id];
    BoundInstruction& b = p_.bound[id];
    if (group != p_.plan.groups.end() && group->first() == id) {
      Kernel* kernel = gpu.bind_chain(id);
      if (!kernel) {
        fused_.push_back(std::make_unique<FusedKernel>(*group, p_.program, p_.plan, p_.bound));
        kernel = fused_.back().get();
      }
      launches_.push_back({kernel, &b.context, id});
      id = group++->last();
      continue;
    }
    const InstructionMode mode = p_.plan.modes[id];
    if (mode != InstructionMode::kSkip || s.kind == InstructionKind::kLoop || feed_)
      launches_.push_back({mode == InstructionMode::kDirect ? b.kernel.get() : nullptr, &b.context, id});
    if (s.kind == InstructionKind::kLoop) id = s.body_end - 1;
  }
}

Status LaunchList::run(int64_t step) {
  if (parallel_run_) return run_in_parallel(step);
  return feed_ ? run_watched(step) : run_in_order(step);
}

Status LaunchList::run_launch(const Launch& launch, int64_t step) {
  if (!launch.kernel) return interpreter_.run(launch.instruction);
  launch.context->step_ = step;
  Status status = launch.kernel->run(*launch.context);
  if (status.ok()) return ok_status();
  return p_.blame(std::move(status), launch.instruction);
}

Status LaunchList::run_in_order(int64_t step) {
  for (const Launch& launch : launches_) {
    if (p_.runtime.stop.asked()) return p_.runtime.stop.status();
    if (Status status = run_launch(launch, step); !status.ok()) return status;
  }
  return ok_status();
}

// The interpreter tells the observer itself, since loops come by there.
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

}  // namespace emplace
