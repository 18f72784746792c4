#include "core/partition/early_sends.h"

#include <algorithm>

namespace emplace {

bool crosses_tasks(const Program& whole, const TaskMap& tasks, InstructionId id) {
  const Instruction& s = whole.instructions[id];
  return s.kind == InstructionKind::kCopy && tasks.of[whole.values[whole.inputs(s)[0]].device] != tasks.of[s.device];
}

EarlySends::EarlySends(const Program& whole, const TaskMap& tasks) {
  for (InstructionId id = 0; id < whole.instructions.size(); ++id) {
    if (!crosses_tasks(whole, tasks, id) || !is_early(whole, id)) continue;
    copies_.emplace_back(whole.values[whole.inputs(whole.instructions[id])[0]].producer, id);
  }
  std::sort(copies_.begin(), copies_.end());
}

bool EarlySends::is_early(const Program& whole, InstructionId copy) {
  const Instruction& s = whole.instructions[copy];
  const PlacedValue& from = whole.values[whole.inputs(s)[0]];
  if (from.producer == kNoInstruction || is_ref(from.dtype) || s.in_loop) return false;
  const Instruction& made_by = whole.instructions[from.producer];
  return made_by.kind == InstructionKind::kNode && !made_by.in_loop;
}

std::span<const std::pair<InstructionId, InstructionId>> EarlySends::of(InstructionId producer) const {
  const auto [first, last] = std::equal_range(copies_.begin(), copies_.end(), std::pair(producer, InstructionId{0}),
                                              [](const auto& a, const auto& b) { return a.first < b.first; });
  return {first, last};
}

}  // namespace emplace
