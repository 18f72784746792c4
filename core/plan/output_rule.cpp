#include "core/plan/output_rule.h"

#include <algorithm>

namespace emplace {

OutputRule output_rule(const Graph& graph, const Program& program, const Instruction& s) {
  if (s.kind == InstructionKind::kCopy) {
    const PlacedValue& from = program.values[program.inputs(s)[0]];
    const PlacedValue& to = program.values[program.outputs(s)[0]];
    // A reference is read, hence provided; between CPUs nothing moves.
    if (is_ref(from.dtype)) return OutputRule::kProvided;
    return from.home == to.home ? OutputRule::kSharesInput : OutputRule::kOwn;
  }
  const OpDef* def = graph.type(s.node).def;
  if (!def) return OutputRule::kOwn;
  return def->forwards() ? OutputRule::kSharesInput : def->provides() ? OutputRule::kProvided : OutputRule::kOwn;
}

bool keeps_inputs(const Graph& graph, const Program& program, const Instruction& s) {
  if (s.control == Control::kNextIteration || s.control == Control::kExit) return true;
  if (s.kind == InstructionKind::kNode && graph.traits(s.node).keeps_input) return true;
  const auto outputs = program.outputs(s);
  return std::any_of(outputs.begin(), outputs.end(),
                     [&](ValueId v) { return program.values[v].dtype == DType::kVariant; });
}

}  // namespace emplace
