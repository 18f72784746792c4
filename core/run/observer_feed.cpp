#include "core/run/observer_feed.h"

#include <utility>

#include "core/partition/meetings.h"
#include "core/run/gpu_kernels.h"

namespace emplace {

ObservedInstruction ObserverFeed::observed(InstructionId id) const {
  const Instruction& s = p_.program.instructions[id];
  if (s.kind != InstructionKind::kCopy) return {s.node, s.device};
  const PlacedValue& from = p_.program.values[p_.program.inputs(s)[0]];
  return {from.tensor.node, p_.program.values[p_.program.outputs(s)[0]].home, from.home, from.tensor.slot};
}

Status ObserverFeed::finished(InstructionId id, std::span<const Tensor> outputs) {
  if (p_.gpus.empty()) return observer_.finished(observed(id), outputs);
  const Instruction& s = p_.program.instructions[id];
  const Graph& graph = p_.file.graph;
  std::vector<Tensor> seen(outputs.begin(), outputs.end());
  if (s.kind != InstructionKind::kNode || !is_collective(graph, s.node)) return show(id, std::move(seen));
  met_.push_back({id, std::move(seen)});
  if (static_cast<int64_t>(met_.size()) < graph.attrs(s.node).integer("num_devices")) return ok_status();
  for (Met& met : std::exchange(met_, {})) RETURN_IF_ERROR(show(met.instruction, std::move(met.outputs)));
  return ok_status();
}

// A tensor in a GPU's memory is shown as a copy; changes that the observer makes to it are copied back.
Status ObserverFeed::show(InstructionId id, std::vector<Tensor> outputs) {
  auto values = p_.program.outputs(p_.program.instructions[id]);
  if (GpuCopyKernel* copy = p_.bound[id].gpu_copy; copy && copy->to_host()) RETURN_IF_ERROR(copy->join());
  std::vector<Tensor> on_gpu(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].valid() || is_ref(outputs[i].dtype())) continue;
    ASSIGN_OR_RETURN(Gpu * gpu, p_.gpu_of(values[i]));
    if (!gpu) continue;
    on_gpu[i] = outputs[i];
    ASSIGN_OR_RETURN(outputs[i], copy_to_host(*gpu, outputs[i]));
  }
  RETURN_IF_ERROR(observer_.finished(observed(id), outputs));
  if (!observer_.has_replaced()) return ok_status();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!on_gpu[i].valid() || outputs[i].size_bytes() == 0) continue;
    ASSIGN_OR_RETURN(Gpu * gpu, p_.gpu_of(values[i]));
    ASSIGN_OR_RETURN(const uint64_t ticket, gpu->copy_in(on_gpu[i].raw(), outputs[i].raw(), outputs[i].size_bytes(),
                                                         Gpu::Lane::kCompute, outputs[i].buffer()));
    RETURN_IF_ERROR(gpu->finish(ticket));
  }
  return ok_status();
}

// A copy of a constant was made before the first step.
Status ObserverFeed::skipped(InstructionId id) {
  const Instruction& s = p_.program.instructions[id];
  if (s.kind == InstructionKind::kCopy) return ok_status();
  if (s.kind == InstructionKind::kNode) starting(id);
  std::vector<Tensor> outputs;
  for (ValueId v : p_.program.outputs(s)) outputs.push_back(p_.values[v]);
  return finished(id, outputs);
}

}  // namespace emplace
