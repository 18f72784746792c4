#include "core/plan/shared_reads.h"

#include <algorithm>
#include <unordered_map>

#include "core/plan/output_rule.h"

namespace emplace {
namespace {

bool may_write(const Graph& graph, const Program& program, const Instruction& s) {
  // Whoever waits for somebody sees what that one did.
  if (s.kind != InstructionKind::kNode) return s.kind != InstructionKind::kCopy && s.kind != InstructionKind::kConstant;
  const OpTraits& traits = graph.traits(s.node);
  if (traits.variable || traits.leaves_state || traits.random) return false;
  const OpSignature* signature = graph.type(s.node).signature;
  if (!signature || signature->is_stateful) return true;
  const auto inputs = program.inputs(s);
  return std::any_of(inputs.begin(), inputs.end(), [&](ValueId v) {
    const DType t = program.values[v].dtype;
    return is_ref(t) || t == DType::kResource;
  });
}

}  // namespace

void share_reads(const Graph& graph, const Program& program, Plan& plan) {
  std::unordered_map<ValueId, ValueId> reads;  // by handle: its value since somebody may have written a variable
  const auto share = [&](InstructionId id, ValueId value) {
    const ValueId out = program.outputs(program.instructions[id])[0];
    if (!(plan.values[out].shape == plan.values[value].shape) || program.values[out].home != program.values[value].home)
      return;
    plan.values[out].same_as = plan.source(value);
    plan.modes[id] = InstructionMode::kSkip;
  };
  for (InstructionId id = 0; id < program.instructions.size(); ++id) {
    const Instruction& s = program.instructions[id];
    if (s.kind == InstructionKind::kLoop) {
      reads.clear();
      id = s.body_end - 1;
    } else if (plan.modes[id] != InstructionMode::kPlanned) {
      if (plan.modes[id] == InstructionMode::kDynamic && may_write(graph, program, s)) reads.clear();
    } else if (s.num_outputs > 0 && plan.values[program.outputs(s)[0]].arrives) {
      const ValueId in = program.inputs(s)[0], out = program.outputs(s)[0];
      if (output_rule(graph, program, s) == OutputRule::kSharesInput) {
        share(id, in);
      } else if (const auto [read, is_first] = reads.try_emplace(in, out); !is_first) {
        share(id, read->second);
      }
    } else if (may_write(graph, program, s)) {
      reads.clear();
    }
  }
}

}  // namespace emplace
