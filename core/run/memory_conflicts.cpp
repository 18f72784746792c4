#include "core/run/memory_conflicts.h"

#include <algorithm>
#include <span>

namespace emplace {
namespace {

constexpr InstructionId kLookAhead = 4096;  // a wait that comes too early is still right

}  // namespace

int64_t MemoryConflicts::planned_bytes(ValueId v) const {
  return plan_.values[v].shape.num_elements() * static_cast<int64_t>(storage_size(program_.values[v].dtype));
}

bool MemoryConflicts::overlap(ValueId a, ValueId b) const {
  const ValuePlan &p = plan_.values[a], &q = plan_.values[b];
  if (p.storage != Storage::kBlock || q.storage != Storage::kBlock ||
      program_.values[a].home != program_.values[b].home)
    return false;
  return p.offset < q.offset + std::max<int64_t>(1, planned_bytes(b)) &&
         q.offset < p.offset + std::max<int64_t>(1, planned_bytes(a));
}

InstructionId MemoryConflicts::next_use(InstructionId copy, ValueId v, bool reads) const {
  auto uses = [&](ValueId other) { return overlap(v, other); };
  const auto end = static_cast<InstructionId>(program_.instructions.size());
  for (InstructionId id = copy + 1; id < end; ++id) {
    const Instruction& s = program_.instructions[id];
    if (id - copy > kLookAhead || plan_.modes[id] != InstructionMode::kDirect) {
      if (plan_.modes[id] != InstructionMode::kSkip || s.kind == InstructionKind::kLoop)
        return id;  // may look anywhere
      continue;
    }
    auto outputs = program_.outputs(s);
    if (std::any_of(outputs.begin(), outputs.end(), uses)) return id;
    auto inputs = program_.inputs(s);
    if (reads && std::any_of(inputs.begin(), inputs.end(), uses)) return id;
  }
  return end;
}

InstructionId MemoryConflicts::next_write(InstructionId id, DeviceId home) const {
  const auto end = static_cast<InstructionId>(program_.instructions.size());
  while (++id < end) {
    const Instruction& s = program_.instructions[id];
    if (s.kind == InstructionKind::kLoop) break;
    auto outputs = program_.outputs(s);
    const bool writes =
        std::any_of(outputs.begin(), outputs.end(), [&](ValueId v) { return program_.values[v].home == home; });
    if (writes && plan_.modes[id] != InstructionMode::kSkip) break;
  }
  return id;
}

InstructionId MemoryConflicts::next_touch(InstructionId id, ValueId v) const {
  const auto touches = [&](ValueId other) { return overlap(v, other); };
  const auto end = static_cast<InstructionId>(program_.instructions.size());
  while (++id < end) {
    const Instruction& s = program_.instructions[id];
    auto inputs = program_.inputs(s), outputs = program_.outputs(s);
    if (s.kind == InstructionKind::kLoop || std::any_of(inputs.begin(), inputs.end(), touches) ||
        std::any_of(outputs.begin(), outputs.end(), touches))
      break;
  }
  return id;
}

const FusedGroup* MemoryConflicts::group_at(InstructionId id) const {
  auto next = std::upper_bound(plan_.groups.begin(), plan_.groups.end(), id,
                               [](InstructionId wanted, const FusedGroup& g) { return wanted < g.first(); });
  if (next == plan_.groups.begin()) return nullptr;
  const FusedGroup& group = *std::prev(next);
  return id <= group.last() ? &group : nullptr;
}

bool MemoryConflicts::conflict(InstructionId earlier, InstructionId later) const {
  const FusedGroup *before = group_at(earlier), *after = group_at(later);
  if (!before && !after) return instructions_conflict(earlier, later);
  auto instructions_of = [](const FusedGroup* group, const InstructionId& id) {
    return group ? std::span<const InstructionId>(group->instructions) : std::span<const InstructionId>(&id, 1);
  };
  for (InstructionId a : instructions_of(before, earlier)) {
    for (InstructionId b : instructions_of(after, later)) {
      if (instructions_conflict(a, b)) return true;
    }
  }
  return false;
}

bool MemoryConflicts::instructions_conflict(InstructionId earlier, InstructionId later) const {
  const Instruction &a = program_.instructions[earlier], &b = program_.instructions[later];
  auto same = [&](ValueId v, ValueId w) {
    const Storage storage = plan_.values[v].storage;
    if (storage == Storage::kTile || plan_.values[w].storage == Storage::kTile) return false;  // a group's own
    return v == w || storage == Storage::kSlot || overlap(v, w);
  };
  auto any = [&](std::span<const ValueId> written, std::span<const ValueId> used) {
    return std::any_of(written.begin(), written.end(), [&](ValueId v) {
      return std::any_of(used.begin(), used.end(), [&](ValueId w) { return same(v, w); });
    });
  };
  return any(program_.outputs(a), program_.inputs(b)) || any(program_.outputs(a), program_.outputs(b)) ||
         any(program_.outputs(b), program_.inputs(a));
}

}  // namespace emplace
