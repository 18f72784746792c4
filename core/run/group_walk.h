/// walk_groups(): the instructions of a program in the order in which neighbours may be fused into one kernel.
#pragma once

#include "core/plan/plan.h"

namespace emplace {

/// visit(id) for every instruction outside of loops that has something to run, in launch order; close() where no group
/// goes on: at a loop, and at the end.
template <class Visit, class Close>
void walk_groups(const Program& program, const Plan& plan, const Visit& visit, const Close& close) {
  for (InstructionId id = 0; id < program.instructions.size(); ++id) {
    if (program.instructions[id].kind == InstructionKind::kLoop) {
      close();
      id = program.instructions[id].body_end - 1;
    } else if (plan.modes[id] != InstructionMode::kSkip) {
      visit(id);
    }
  }
  close();
}

}  // namespace emplace
