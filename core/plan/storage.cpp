#include "core/plan/storage.h"

namespace emplace {
namespace {

bool plain(DType t) { return t != DType::kString && t != DType::kVariant && t != DType::kResource && !is_ref(t); }

class StorageChooser {
 public:
  StorageChooser(const Graph& graph, const DeviceSet& devices, const Program& program, Plan& plan)
      : graph_(graph), devices_(devices), program_(program), plan_(plan) {
    for (const Device& d : devices.devices) has_gpus_ |= d.kind == DeviceKind::kCuda;
  }

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
        if (s.kind == InstructionKind::kNode && graph_.traits(s.node).reads_variable) read(s);
        break;
    }
  }

 private:
  ValuePlan& at(ValueId v) { return plan_.values[v]; }

  void own(const Instruction& s, InstructionMode& mode) {
    bool inputs_in_place = true;
    for (ValueId v : program_.inputs(s)) inputs_in_place &= at(v).storage != Storage::kSlot || at(v).arrives;
    for (ValueId v : program_.outputs(s)) {
      if (!plain(program_.values[v].dtype) || guarded(v)) return;
    }
    for (ValueId v : program_.outputs(s)) {
      at(v).storage = Storage::kBlock;
      at(v).buffer = v;
    }
    if (s.kind == InstructionKind::kCopy) {
      for (ValueId v : program_.inputs(s)) inputs_in_place &= !at(v).arrives;
    }
    if (inputs_in_place && !s.may_be_dead) mode = InstructionMode::kDirect;
  }

  // GPUs order and record launches by the addresses that are bound.
  void read(const Instruction& s) {
    const ValueId out = program_.outputs(s)[0];
    at(out).arrives = !has_gpus_ && !s.may_be_dead && plain(program_.values[out].dtype);
  }

  void share(const Instruction& s, InstructionMode& mode) {
    const auto inputs = program_.inputs(s), outputs = program_.outputs(s);
    if (s.may_be_dead) return;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (program_.values[inputs[i]].home != program_.values[outputs[i]].home) return;
    }
    bool all_in_place = true;
    for (size_t i = 0; i < outputs.size(); ++i) {
      at(outputs[i]).arrives = outputs.size() == 1 && at(inputs[i]).arrives;
      all_in_place &= at(inputs[i]).storage != Storage::kSlot;
    }
    if (!all_in_place) return;
    for (size_t i = 0; i < outputs.size(); ++i) share(inputs[i], outputs[i]);
    mode = InstructionMode::kSkip;
  }

  void share(ValueId in, ValueId out) {
    if (at(in).storage == Storage::kFixed) {
      plan_.tensors.push_back(at(in).known->reshaped(at(out).shape));
      at(out).known = &plan_.tensors.back();
      at(out).varies = at(in).varies;
      at(out).storage = Storage::kFixed;
    } else {
      at(out).storage = Storage::kBlock;
      at(out).buffer = at(in).buffer;
    }
  }

  /// Each tensor has pages of its own then, which a block has not.
  bool guarded(ValueId v) const {
    return devices_.guards_tensors && devices_.at(program_.values[v].home).kind == DeviceKind::kCuda;
  }

  const Graph& graph_;
  const DeviceSet& devices_;
  const Program& program_;
  Plan& plan_;
  bool has_gpus_ = false;
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
