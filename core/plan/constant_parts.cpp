#include "core/plan/constant_parts.h"

#include <algorithm>

#include "core/graph/node_kernel.h"

namespace emplace {
namespace {

class PartsOfConstants {
 public:
  PartsOfConstants(const Graph& graph, const DeviceSet& devices, const Program& program)
      : graph_(graph), devices_(devices), program_(program), parts_(program.instructions.size(), 0) {}

  std::vector<uint8_t> find() {
    for (InstructionId id = 0; id < parts_.size(); ++id) parts_[id] = is_constant(id);
    // Backwards: only what somebody reads who is no part.
    std::vector<uint8_t> wanted(program_.values.size(), 0);
    for (InstructionId id = static_cast<InstructionId>(parts_.size()); id-- > 0;) {
      const Instruction& s = program_.instructions[id];
      const auto outputs = program_.outputs(s);
      if (parts_[id]) parts_[id] = std::any_of(outputs.begin(), outputs.end(), [&](ValueId v) { return wanted[v]; });
      if (parts_[id] || !is_fixed(id)) {
        for (const ValueId v : program_.inputs(s)) {
          if (v != kNoValue) wanted[v] = 1;
        }
      }
    }
    return std::move(parts_);
  }

 private:
  bool in_host_memory(ValueId v) const {
    if (v == kNoValue || devices_.at(program_.values[v].home).type != "CPU") return false;
    const DType type = program_.values[v].dtype;
    return !is_ref(type) && kNumbersAndBool.has(type);
  }
  // Decided by constants, whether a part of the step or not.
  bool is_fixed(InstructionId id) const { return fixed_.size() > id && fixed_[id]; }

  bool is_constant(InstructionId id) {
    fixed_.push_back(decided_by_constants(program_.instructions[id]));
    return fixed_[id] && program_.instructions[id].kind == InstructionKind::kNode;
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
  std::vector<uint8_t> parts_, fixed_;
};

}  // namespace

std::vector<uint8_t> constant_parts(const Graph& graph, const DeviceSet& devices, const Program& program) {
  return PartsOfConstants(graph, devices, program).find();
}

}  // namespace emplace
