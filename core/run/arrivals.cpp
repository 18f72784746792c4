#include "core/run/arrivals.h"

#include <unordered_set>

#include "core/run/slot_operands.h"

namespace emplace {

std::unique_ptr<Arrivals> Arrivals::find(PreparedProgram& p, std::span<const InstructionId> instructions,
                                         Kernel& kernel, const std::vector<std::vector<ValueId>>& releases) {
  std::unique_ptr<Arrivals> found;
  std::unordered_set<ValueId> seen;
  for (const InstructionId id : instructions) {
    const auto inputs = p.program.inputs(p.program.instructions[id]);
    for (uint32_t i = 0; i < inputs.size(); ++i) {
      if (!p.plan.values[inputs[i]].arrives) continue;
      if (!found) found.reset(new Arrivals(p, kernel));
      const ValueId value = p.plan.source(inputs[i]);
      const bool is_first = seen.insert(value).second;
      // A fused kernel finds what its tiles read itself.
      const bool by_tile = instructions.size() > 1 && p.bound[id].kernel->tile().function;
      if (is_first || !by_tile || p.program.instructions[id].num_outputs > 1)
        found->operands_.push_back({value, id, i, is_first});
    }
    if (found) found->released_.insert(found->released_.end(), releases[id].begin(), releases[id].end());
  }
  return found;
}

Status Arrivals::take(const Operand& o) {
  const Tensor& value = p_.values[o.value];
  const Shape& planned = p_.plan.values[o.value].shape;
  if (o.is_first) {
    if (!(value.shape() == planned)) return other_shape(o.input, value.shape(), planned);
    if (p_.guard.needed()) RETURN_IF_ERROR(p_.guard.check(o.value, value));
  }
  p_.bound[o.reader].context.inputs_[o.input] = value;
  return ok_status();
}

Status Arrivals::run(KernelContext& c) {
  for (const Operand& o : operands_) {
    if (Status status = take(o); !status.ok()) return p_.blame(std::move(status), o.reader);
  }
  Status status = kernel_.run(c);
  for (const Operand& o : operands_) p_.bound[o.reader].context.inputs_[o.input] = Tensor();
  for (const ValueId v : released_) p_.values[v] = Tensor();
  return status;
}

}  // namespace emplace
