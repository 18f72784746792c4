#include "core/partition/growing_part.h"

namespace emplace {

GrowingPart::GrowingPart(const Program& whole, const TaskMap& tasks, TaskId self)
    : whole_(whole), values_(whole.values.size(), kNoValue), instructions_(whole.instructions.size(), kNoInstruction) {
  DeviceId next = 0;
  for (const TaskId of : tasks.of) devices_.push_back(of == self ? next++ : kNoDevice);
  host_ = devices_[tasks.host[self]];
}

ValueId GrowingPart::value(ValueId of_whole) {
  const bool is_fed = whole_.values[of_whole].producer == kNoInstruction;
  if (values_[of_whole] == kNoValue && is_fed) {
    values_[of_whole] = static_cast<ValueId>(program.values.size());
    program.values.push_back(on_own_device(of_whole));
  }
  return values_[of_whole];
}

void GrowingPart::begin(Instruction& made) const {
  made.first_operand = static_cast<uint32_t>(program.operands.size());
  made.first_control = static_cast<uint32_t>(program.controls.size());
}

void GrowingPart::add_outputs(InstructionId of_whole) {
  instructions_[of_whole] = next();
  for (const ValueId v : whole_.outputs(whole_.instructions[of_whole])) {
    PlacedValue own = on_own_device(v);
    own.producer = next();
    values_[v] = static_cast<ValueId>(program.values.size());
    program.operands.push_back(values_[v]);
    program.values.push_back(own);
  }
}

Instruction GrowingPart::transfer(InstructionKind kind, NodeId node, bool may_be_dead) const {
  Instruction made;
  made.kind = kind;
  made.node = node;
  made.device = host_;
  made.may_be_dead = may_be_dead;
  begin(made);
  return made;
}

void GrowingPart::add_transfer(const Instruction& made, uint32_t copy, TaskId peer) {
  program.transfers.push_back({next(), copy, peer});
  add(made);
}

PlacedValue GrowingPart::on_own_device(ValueId of_whole) const {
  PlacedValue own = whole_.values[of_whole];
  own.device = devices_[own.device];
  own.home = devices_[own.home];
  return own;
}

}  // namespace emplace
