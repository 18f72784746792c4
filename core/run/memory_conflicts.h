/// MemoryConflicts: which instructions of a planned program touch the same bytes, under whatever names.
#pragma once

#include "core/plan/plan.h"

namespace emplace {

/// After the memory plan; both must outlive it. Any thread.
class MemoryConflicts {
 public:
  MemoryConflicts(const Program& program, const Plan& plan) : program_(program), plan_(plan) {}

  /// Do the two lie in the same bytes of one block?
  bool overlap(ValueId a, ValueId b) const;
  /// Must the launch of `later` wait for that of `earlier`? If an instruction of one writes what one of the other reads
  /// or writes.
  bool conflict(InstructionId earlier, InstructionId later) const;
  /// The first instruction behind `copy` that writes over `v`; with `reads`, or that reads it. The number of
  /// instructions: there is none.
  InstructionId next_use(InstructionId copy, ValueId v, bool reads) const;
  /// The first instruction behind `id` that may write to any memory of this device's; the number of instructions: none.
  InstructionId next_write(InstructionId id, DeviceId home) const;
  /// The first instruction behind `id` that reads or writes the block's bytes where `v` lies, under whatever name; the
  /// number of instructions: none.
  InstructionId next_touch(InstructionId id, ValueId v) const;
  /// The fused group that an instruction is in; null: none.
  const FusedGroup* group_at(InstructionId id) const;

 private:
  bool instructions_conflict(InstructionId earlier, InstructionId later) const;
  int64_t planned_bytes(ValueId v) const;

  const Program& program_;
  const Plan& plan_;
};

}  // namespace emplace
