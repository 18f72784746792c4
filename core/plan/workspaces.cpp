#include "core/plan/workspaces.h"

#include "core/graph/node_kernel.h"

namespace emplace {
namespace {

bool settled(const Instruction& s, InstructionMode mode) {
  return s.kind == InstructionKind::kNode &&
         (mode == InstructionMode::kDirect || (mode == InstructionMode::kPlanned && !s.may_be_dead && !s.in_loop));
}

}  // namespace

Workspace workspace_of(const Graph& graph, const Program& program, const Plan& plan, InstructionId instruction) {
  const Instruction& s = program.instructions[instruction];
  if (!settled(s, plan.modes[instruction])) return {};
  const NodeType& type = graph.type(s.node);
  const KernelMaker maker = cpu_kernel(type);
  if (!maker || !type.signature || type.signature->is_stateful) return {};

  std::vector<Tensor> operands;
  auto show = [&](std::span<const ValueId> values, std::span<const DType> types) {
    for (size_t i = 0; i < values.size(); ++i) {
      const ValuePlan& value = plan.values[values[i]];
      if (is_ref(types[i]) || !kNumbersAndBool.has(types[i]) || !value.shape.fully_known()) return false;
      operands.push_back(value.known ? *value.known : Tensor::wrap(types[i], value.shape, nullptr));
    }
    return true;
  };
  if (!show(program.inputs(s), type.input_types) || !show(program.outputs(s), type.output_types)) return {};

  auto kernel = maker({graph.name(s.node), type.op, type.view(), type.input_types, type.output_types});
  if (!kernel.ok()) return {};
  KernelContext c;
  c.inputs_ = {operands.data(), s.num_inputs};
  c.outputs_ = {operands.data() + s.num_inputs, s.num_outputs};
  c.node_name_ = graph.name(s.node);
  return (*kernel)->prepare(c).ok() ? (*kernel)->workspace() : Workspace{};
}

}  // namespace emplace
