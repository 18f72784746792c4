/// TileRegisters: which of a fused kernel's registers holds which value. A register holds a tile of one; it is free for
/// another behind the last instruction that reads it.
#pragma once

#include <vector>

#include "core/plan/plan.h"

namespace emplace {

class TileRegisters {
 public:
  /// `tile`: elements of a register.
  TileRegisters(const FusedGroup& group, const Program& program, const Plan& plan, int64_t tile);

  bool holds(ValueId v) const { return plan_.values[v].storage == Storage::kTile; }
  /// The following: of values that are held. In this order, one instruction after the other: last_reader(), take().

  /// Values in one register that are one number to the kernel have one buffer.
  ValueId buffer(ValueId v) const { return plan_.values[v].buffer; }
  /// Which instruction of the group is the last that reads a buffer; kNoInstruction: none, or it did.
  InstructionId last_reader(ValueId buffer) const { return registers_[buffer - first_value_].last_reader; }
  /// Where its register begins, in bytes.
  size_t offset(ValueId v) const { return registers_[buffer(v) - first_value_].number * register_bytes_; }
  /// Gives `out`, which `id` makes, the register of an input that `id` is the last to read and whose elements are of
  /// the same size, else a free one.
  void take(InstructionId id, ValueId out);
  /// What `id` is the last to read, but for buffer `kept`, needs its register no more.
  void release(InstructionId id, ValueId kept = kNoValue);

  /// Of all registers together.
  size_t bytes() const { return num_registers_ * register_bytes_; }

 private:
  struct Register {
    InstructionId last_reader = kNoInstruction;
    size_t number = 0;
  };
  Register& of(ValueId v) { return registers_[buffer(v) - first_value_]; }
  std::span<const ValueId> inputs(InstructionId id) const { return program_.inputs(program_.instructions[id]); }
  size_t width(ValueId v) const { return dtype_size(program_.values[v].dtype); }

  const Program& program_;
  const Plan& plan_;
  const size_t register_bytes_;
  ValueId first_value_ = kNoValue;
  std::vector<Register> registers_;  // by buffer, from first_value_ on
  std::vector<size_t> free_;
  size_t num_registers_ = 0;
};

}  // namespace emplace
