/// GrowingPart: a task's part of a program while it is made: values, devices and instructions of the whole program get
/// the numbers that they have on this task.
#pragma once

#include <vector>

#include "core/partition/program.h"

namespace emplace {

class GrowingPart {
 public:
  /// Both outlive it.
  GrowingPart(const Program& whole, const TaskMap& tasks, TaskId self);

  /// What has been added.
  Program program;

  DeviceId host() const { return host_; }
  /// REQUIRES: of this task.
  DeviceId device(DeviceId of_whole) const { return devices_[of_whole]; }
  /// Of the next instruction to be added.
  InstructionId next() const { return static_cast<InstructionId>(program.instructions.size()); }
  /// kNoInstruction: it has not been added.
  InstructionId instruction(InstructionId of_whole) const { return instructions_[of_whole]; }
  /// kNoValue: nothing has made it yet. What is fed is added here.
  ValueId value(ValueId of_whole);

  /// An instruction is added by begin(), its inputs and outputs (add_outputs()), its controls, and add().
  void begin(Instruction& made) const;
  /// The outputs of the next instruction stand for those of this one of the whole program.
  void add_outputs(InstructionId of_whole);
  void add(const Instruction& made) { program.instructions.push_back(made); }

  /// A send or a receive, begun; `node`: whose tensor, or which has run.
  Instruction transfer(InstructionKind kind, NodeId node, bool may_be_dead) const;
  void add_transfer(const Instruction& made, uint32_t copy, TaskId peer);

 private:
  PlacedValue on_own_device(ValueId of_whole) const;

  const Program& whole_;
  std::vector<DeviceId> devices_;  // by device of the whole; kNoDevice: another task's
  DeviceId host_;
  std::vector<ValueId> values_;              // by value of the whole
  std::vector<InstructionId> instructions_;  // by instruction of the whole
};

}  // namespace emplace
