/// walk_groups(): goes over a program's steps as those do who look for neighbours that one kernel can do.
#pragma once

#include "core/plan/plan.h"

namespace emplace {

/// visit(id) for every step outside of loops that has something to run, in launch order; close() where no group goes
/// on: at a loop, and at the end.
template <class Visit, class Close>
void walk_groups(const Program& program, const Plan& plan, const Visit& visit, const Close& close) {
  for (StepId id = 0; id < program.steps.size(); ++id) {
    if (program.steps[id].kind == StepKind::kLoop) {
      close();
      id = program.steps[id].body_end - 1;
    } else if (plan.modes[id] != StepMode::kSkip) {
      visit(id);
    }
  }
  close();
}

}  // namespace emplace
