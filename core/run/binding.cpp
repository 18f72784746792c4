#include "core/run/binding.h"

#include "core/run/make_kernel.h"

namespace emplace {
namespace {

std::span<const ValueId> operand_values(const Program& program, const Instruction& s) {
  return {program.operands.data() + s.first_operand, s.num_inputs + s.num_outputs};
}

void place_in_blocks(PreparedProgram& p, const std::vector<std::byte*>& blocks) {
  for (ValueId v = 0; v < p.values.size(); ++v) {
    const ValuePlan& plan = p.plan.values[v];
    if (plan.storage == Storage::kBlock) p.values[v].rebind(blocks[p.program.values[v].home] + plan.offset);
  }
  // Every instruction that was prepared without addresses.
  for (InstructionId id = 0; id < p.program.instructions.size(); ++id) {
    if (p.plan.modes[id] != InstructionMode::kDirect) continue;
    const Instruction& s = p.program.instructions[id];
    Tensor* operand = p.operands.data() + s.first_operand;
    for (ValueId v : operand_values(p.program, s)) {
      if (p.plan.values[v].storage == Storage::kBlock) operand->rebind(p.values[v].raw());
      ++operand;
    }
  }
}

// Operands of direct instructions never change: they are checked here, once, instead of at each run.
Status check_bound(const PreparedProgram& p) {
  for (InstructionId id = 0; id < p.program.instructions.size(); ++id) {
    if (p.plan.modes[id] != InstructionMode::kDirect) continue;
    const Instruction& s = p.program.instructions[id];
    const Tensor* operand = p.operands.data() + s.first_operand;
    for (ValueId v : operand_values(p.program, s)) {
      if (!p.plan.values[v].arrives) RETURN_IF_ERROR(p.blame(p.guard.check(v, *operand), id));
      ++operand;
    }
  }
  return ok_status();
}

}  // namespace

void bind_context(PreparedProgram& p, InstructionId id) {
  const Instruction& s = p.program.instructions[id];
  KernelContext& c = p.bound[id].context;
  c.inputs_ = {p.operands.data() + s.first_operand, s.num_inputs};
  c.outputs_ = {p.operands.data() + s.first_operand + s.num_inputs, s.num_outputs};
  c.allocator_ = p.runtime.pools[s.device].get();
  c.host_allocator_ = p.runtime.pools[p.program.host].get();
  if (p.on_cuda(s.device) && !uses_device_memory(p, id)) c.allocator_ = c.host_allocator_;
  if (Gpu* gpu = p.runtime.gpus[s.device].get()) c.stream_ = gpu->stream();
  c.parallel_ = p.threads.parallel;
  c.node_name_ = p.file.graph.name(s.node);
  auto outputs = p.program.outputs(s);
  auto inputs = p.program.inputs(s);
  for (size_t i = 0; i < inputs.size() && i < 64; ++i) {
    const ValuePlan& in = p.plan.values[inputs[i]];
    if (in.storage == Storage::kFixed && !in.varies) c.constant_inputs_ |= uint64_t{1} << i;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (p.program.values[outputs[i]].home == p.program.host) c.host_outputs_ |= uint64_t{1} << (i < 63 ? i : 63);
  }
  if (p.plan.modes[id] != InstructionMode::kDirect) return;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValuePlan& in = p.plan.values[inputs[i]];
    c.inputs_[i] =
        in.arrives ? Tensor::wrap(p.program.values[inputs[i]].dtype, in.shape, nullptr) : p.values[inputs[i]];
  }
  for (size_t i = 0; i < outputs.size(); ++i) c.outputs_[i] = p.values[outputs[i]];
}

Status bind_memory(PreparedProgram& p, const std::vector<std::byte*>& blocks) {
  place_in_blocks(p, blocks);
  p.guard.set_blocks(blocks, p.plan.devices);
  return p.guard.needed() ? check_bound(p) : ok_status();
}

}  // namespace emplace
