/// EarlySends: what a task sends to others as soon as it is made, and not where its reader stands in the whole program.
/// A send waits for nobody, so that it may: others wait for it, and it is under way while its task goes on.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "core/partition/program.h"

namespace emplace {

/// Is it a copy from one task to another?
bool crosses_tasks(const Program& whole, const TaskMap& tasks, InstructionId id);

class EarlySends {
 public:
  /// Of all tasks. Both outlive it.
  EarlySends(const Program& whole, const TaskMap& tasks);

  /// REQUIRES: `copy` crosses tasks. Not in loops, whose pieces go by iterations, nor of references, whose variable may
  /// change up to the reader.
  static bool is_early(const Program& whole, InstructionId copy);
  /// The copies of what this instruction makes. Ascending.
  std::span<const std::pair<InstructionId, InstructionId>> of(InstructionId producer) const;

 private:
  std::vector<std::pair<InstructionId, InstructionId>> copies_;  // with their producers first; sorted
};

}  // namespace emplace
