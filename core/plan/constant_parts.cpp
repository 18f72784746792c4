#include "core/plan/constant_parts.h"

#include <algorithm>

#include "core/graph/node_kernel.h"

namespace emplace {
namespace {

class PartsOfConstants {
 public:
  PartsOfConstants(const Graph& graph, const DeviceSet& devices, const Program& program)
      : graph_(graph), devices_(devices), program_(program) {}

  std::vector<ConstantPart> find() {
    const auto count = static_cast<InstructionId>(program_.instructions.size());
    for (InstructionId id = 0; id < count; ++id) fixed_.push_back(decided_by_constants(program_.instructions[id]));
    // Backwards: only what somebody reads who is no part.
    std::vector<ConstantPart> parts(count, ConstantPart::kNone), wanted(program_.values.size(), ConstantPart::kNone);
    for (InstructionId id = count; id-- > 0;) {
      const Instruction& s = program_.instructions[id];
      if (fixed_[id] && s.kind == InstructionKind::kNode) {
        for (const ValueId v : program_.outputs(s)) parts[id] = std::max(parts[id], wanted[v]);
      }
      const ConstantPart use = fixed_[id] ? parts[id] : use_by(s);
      for (const ValueId v : program_.inputs(s)) {
        if (v != kNoValue) wanted[v] = std::max(wanted[v], use);
      }
    }
    return parts;
  }

 private:
  bool in_host_memory(ValueId v) const {
    if (v == kNoValue || devices_.at(program_.values[v].home).type != "CPU") return false;
    const DType type = program_.values[v].dtype;
    return !is_ref(type) && kNumbersAndBool.has(type);
  }
  // Decided by constants, whether a part of the step or not.
  bool is_fixed(InstructionId id) const { return fixed_.size() > id && fixed_[id]; }

  ConstantPart use_by(const Instruction& s) const {
    if (s.kind != InstructionKind::kNode) return ConstantPart::kMayGrow;
    const NodeType& type = graph_.type(s.node);
    const auto inputs = program_.inputs(s);
    const bool for_effect = (type.signature && type.signature->is_stateful) ||
                            std::any_of(inputs.begin(), inputs.end(),
                                        [&](ValueId v) { return v != kNoValue && is_ref(program_.values[v].dtype); });
    return for_effect ? ConstantPart::kOnlyAsLarge : ConstantPart::kMayGrow;
  }

  bool decided_by_constants(const Instruction& s) const {
    if (s.kind == InstructionKind::kConstant) return true;
    if (s.kind != InstructionKind::kNode || s.may_be_dead || s.in_loop || s.control != Control::kNone) return false;
    const NodeType& type = graph_.type(s.node);
    if (!type.signature || type.signature->is_stateful || !cpu_kernel(type) || s.num_inputs == 0) return false;
    const auto inputs = program_.inputs(s), outputs = program_.outputs(s);
    return !outputs.empty() && std::all_of(inputs.begin(), inputs.end(), [&](ValueId v) { return is_made_so(v); }) &&
           std::all_of(outputs.begin(), outputs.end(), [&](ValueId v) { return in_host_memory(v); });
  }
  bool is_made_so(ValueId v) const {
    if (!in_host_memory(v)) return false;
    const InstructionId producer = program_.values[v].producer;
    return producer != kNoInstruction && is_fixed(producer);
  }

  const Graph& graph_;
  const DeviceSet& devices_;
  const Program& program_;
  std::vector<uint8_t> fixed_;
};

}  // namespace

std::vector<ConstantPart> constant_parts(const Graph& graph, const DeviceSet& devices, const Program& program) {
  return PartsOfConstants(graph, devices, program).find();
}

}  // namespace emplace
