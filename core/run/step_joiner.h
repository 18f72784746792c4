/// StepJoiner: which instructions of a fused kernel are done in one loop with the one before, as steps of a chain
/// (core/op/element_step.h): those that go on with the number that it made.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/op/element_step.h"
#include "core/run/bound_instruction.h"
#include "core/run/tile_registers.h"

namespace emplace {

class StepJoiner {
 public:
  static constexpr size_t kNone = ~size_t{0};
  /// Which input of an instruction is the number that the chain hands on, and which is what the chain keeps aside.
  struct Joined {
    size_t number = kNone;  // kNone: the instruction begins a loop of its own
    size_t kept = kNone;
    bool keeps = false;  // from here on the chain keeps the number as it is before this step
  };

  StepJoiner(const FusedGroup& group, const Program& program, const std::vector<BoundInstruction>& bound,
             const TileRegisters& registers)
      : group_(group), program_(program), bound_(bound), registers_(registers) {}

  /// What an instruction does to a number, if it can be a step of a chain. kNone: by a function of the number alone.
  std::optional<ElementStep> step_of(InstructionId id) const;
  /// Does `id`, which is `step`, go on with the loop before, of `length` steps so far?
  Joined join(InstructionId id, ElementStep step, int length);
  /// To be told of every instruction: its step, if it was asked for, and its output.
  void made(std::optional<ElementStep> step, ValueId out);
  /// Of the instruction before.
  ElementStep last_step() const { return last_step_; }

 private:
  size_t only_place(std::span<const ValueId> values, ValueId value) const;
  bool comes_back(InstructionId id, int length) const;
  std::span<const ValueId> inputs(InstructionId id) const { return program_.inputs(program_.instructions[id]); }

  const FusedGroup& group_;
  const Program& program_;
  const std::vector<BoundInstruction>& bound_;
  const TileRegisters& registers_;
  ElementStep last_step_ = ElementStep::kNone;
  ValueId last_value_ = kNoValue;  // what the last loop made, if that is in a register and by a step
  ValueId kept_value_ = kNoValue;  // what its chain keeps aside, until this instruction takes it
  InstructionId kept_until_ = kNoInstruction;
};

}  // namespace emplace
