#include "core/plan/storage.h"

namespace emplace {
namespace {

bool plain(DType t) { return t != DType::kString && t != DType::kVariant && t != DType::kResource && !is_ref(t); }

class StorageChooser {
 public:
  StorageChooser(const Graph& graph, const DeviceSet& devices, const Program& program, Plan& plan)
      : graph_(graph), devices_(devices), program_(program), plan_(plan) {}

  void choose(InstructionId id) {
    InstructionMode& mode = plan_.modes[id];
    const Instruction& s = program_.instructions[id];
    if (mode != InstructionMode::kPlanned) return;
    if (s.kind == InstructionKind::kNode && !s.may_be_dead && graph_.traits(s.node).does_nothing) {
      mode = InstructionMode::kSkip;
      return;
    }
    switch (output_rule(graph_, program_, s)) {
      case OutputRule::kOwn:
        own(s, mode);
        break;
      case OutputRule::kSharesInput:
        share(s, mode);
        break;
      case OutputRule::kProvided:
        break;
    }
  }

 private:
  ValuePlan& at(ValueId v) { return plan_.values[v]; }

  void own(const Instruction& s, InstructionMode& mode) {
    bool inputs_in_place = true;
    for (ValueId v : program_.inputs(s)) inputs_in_place &= at(v).storage != Storage::kSlot;
    for (ValueId v : program_.outputs(s)) {
      if (!plain(program_.values[v].dtype) || guarded(v)) return;
    }
    for (ValueId v : program_.outputs(s)) {
      at(v).storage = Storage::kBlock;
      at(v).buffer = v;
    }
    if (inputs_in_place && !s.may_be_dead) mode = InstructionMode::kDirect;
  }

  void share(const Instruction& s, InstructionMode& mode) {
    ValueId in = program_.inputs(s)[0], out = program_.outputs(s)[0];
    bool same_memory = program_.values[in].home == program_.values[out].home;
    if (!same_memory || at(in).storage == Storage::kSlot || s.may_be_dead) return;
    if (at(in).storage == Storage::kFixed) {
      plan_.tensors.push_back(at(in).known->reshaped(at(out).shape));
      at(out).known = &plan_.tensors.back();
      at(out).varies = at(in).varies;
      at(out).storage = Storage::kFixed;
    } else {
      at(out).storage = Storage::kBlock;
      at(out).buffer = at(in).buffer;
    }
    mode = InstructionMode::kSkip;
  }

  /// Each tensor has pages of its own then, which a block has not.
  bool guarded(ValueId v) const {
    return devices_.guards_tensors && devices_.at(program_.values[v].home).kind == DeviceKind::kCuda;
  }

  const Graph& graph_;
  const DeviceSet& devices_;
  const Program& program_;
  Plan& plan_;
};

}  // namespace

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

void choose_storage(const GraphFile& file, const DeviceSet& devices, const Program& program, Plan& plan) {
  StorageChooser chooser(file.graph, devices, program, plan);
  for (InstructionId s = 0; s < program.instructions.size(); ++s) chooser.choose(s);
}

}  // namespace emplace
