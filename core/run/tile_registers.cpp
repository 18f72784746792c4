#include "core/run/tile_registers.h"

#include <algorithm>

namespace emplace {
namespace {

// Every register can hold a tile of the widest elements (complex128), and begins on a cache line.
size_t register_bytes(int64_t tile) {
  constexpr size_t kWidest = 16, kLine = 64;
  return (static_cast<size_t>(tile) * kWidest + kLine - 1) / kLine * kLine;
}

}  // namespace

TileRegisters::TileRegisters(const FusedGroup& group, const Program& program, const Plan& plan, int64_t tile)
    : program_(program), plan_(plan), register_bytes_(register_bytes(tile)) {
  // What is in registers was made by the group's own instructions, whose values lie close to each other.
  ValueId last = 0;
  for (InstructionId id : group.instructions) {
    const ValueId out = program.outputs(program.instructions[id])[0];
    first_value_ = std::min(first_value_, out);
    last = std::max(last, out);
  }
  registers_.resize(group.instructions.empty() ? 0 : last - first_value_ + 1);
  const auto look = [&](InstructionId id) {
    for (ValueId v : inputs(id)) {
      if (holds(v)) of(v).last_reader = id;
    }
  };
  for (InstructionId id : group.instructions) look(id);
  if (group.reduction != kNoInstruction) look(group.reduction);
}

void TileRegisters::take(InstructionId id, ValueId out) {
  ValueId reused = kNoValue;
  for (ValueId v : inputs(id)) {
    if (holds(v) && of(v).last_reader == id && width(v) == width(out)) reused = v;
  }
  size_t number;
  if (reused != kNoValue) {
    number = of(reused).number;
  } else if (!free_.empty()) {
    number = free_.back();
    free_.pop_back();
  } else {
    number = num_registers_++;
  }
  release(id, reused == kNoValue ? kNoValue : buffer(reused));
  of(out).number = number;
  if (of(out).last_reader == kNoInstruction) free_.push_back(number);  // nobody reads it
}

void TileRegisters::release(InstructionId id, ValueId kept) {
  for (ValueId v : inputs(id)) {
    if (!holds(v) || buffer(v) == kept || of(v).last_reader != id) continue;
    free_.push_back(of(v).number);
    of(v).last_reader = kNoInstruction;  // an input that is read twice is freed once
  }
}

}  // namespace emplace
