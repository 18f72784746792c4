#include "core/run/gpu_copy_order.h"

#include <algorithm>
#include <map>

namespace emplace {

std::vector<std::vector<InstructionId>> GpuCopyOrder::by_gpu(const std::vector<Launch>& launches) const {
  std::vector<std::vector<InstructionId>> found(p_.devices.size());
  for (const Launch& launch : launches) {
    const Instruction& s = p_.program.instructions[launch.instruction];
    if (s.kind == InstructionKind::kNode && p_.on_cuda(s.device)) found[s.device].push_back(launch.instruction);
  }
  return found;
}

void GpuCopyOrder::order(std::vector<Launch>& launches) {
  const std::vector<std::vector<InstructionId>> on_gpus = by_gpu(launches);
  const bool several = std::count_if(on_gpus.begin(), on_gpus.end(), [](const auto& of) { return !of.empty(); }) > 1;
  const auto end = static_cast<InstructionId>(p_.program.instructions.size());
  std::map<InstructionId, std::vector<Launch>> before;
  for (const Launch& launch : launches) {
    const Instruction& s = p_.program.instructions[launch.instruction];
    GpuCopyKernel* copy = p_.bound[launch.instruction].gpu_copy;
    if (!copy) continue;
    auto call = [&](InstructionId at, Status (GpuCopyKernel::*what)()) {
      if (at == end) return;  // the end of the step waits for everything
      if (const FusedGroup* group = conflicts_.group_at(at)) at = group->first();
      waits_.push_back(std::make_unique<GpuCopyCall>(*copy, what));
      before[at].push_back({waits_.back().get(), launch.context, launch.instruction});
    };
    if (!launch.kernel) {  // by the interpreter: whose memory its source is in, only a run knows
      if (copy->from_host()) {
        copy->guard_later();
        call(conflicts_.next_write(launch.instruction, p_.program.host), &GpuCopyKernel::guard);
      } else if (copy->to_host()) {  // for what is in no block the interpreter waits
        copy->join_later();
        call(conflicts_.next_touch(launch.instruction, p_.program.outputs(s)[0]), &GpuCopyKernel::join);
      }
      continue;
    }
    copy->run_beside();
    call(conflicts_.next_use(launch.instruction, p_.program.outputs(s)[0], true), &GpuCopyKernel::join);
    const ValueId from = p_.program.inputs(s)[0];
    if (copy->from_host() && p_.plan.values[from].storage != Storage::kBlock) continue;  // nobody writes over it
    call(conflicts_.next_use(launch.instruction, from, false), &GpuCopyKernel::guard);
    // What the source's GPU is given in between, because other GPUs come first, is nothing that the copy waits for.
    const PlacedValue& source = p_.program.values[from];
    if (copy->from_host() || !several || source.producer == kNoInstruction) continue;
    const std::vector<InstructionId>& beside = on_gpus[source.home];
    auto next = std::upper_bound(beside.begin(), beside.end(), source.producer);
    const FusedGroup* group = conflicts_.group_at(source.producer);
    if (next != beside.end() && *next < launch.instruction)
      call((group ? group->last() : source.producer) + 1, &GpuCopyKernel::mark);
  }
  if (before.empty()) return;
  std::vector<Launch> ordered;
  auto next = before.begin();
  for (const Launch& launch : launches) {
    for (; next != before.end() && next->first <= launch.instruction; ++next)
      ordered.insert(ordered.end(), next->second.begin(), next->second.end());
    ordered.push_back(launch);
  }
  launches = std::move(ordered);
}

}  // namespace emplace
