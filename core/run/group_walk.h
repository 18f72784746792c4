/// walk_groups(): the instructions of a program in the order in which neighbours may be fused into one kernel.
#pragma once

#include "core/plan/plain_loops.h"
#include "core/plan/plan.h"

namespace emplace {

/// visit(id) for every instruction of a plain loop that has something to run; close() where others do not run whenever
/// those before them do, and where the loop itself does something: decides, or hands on what comes out of it.
template <class Visit, class Close>
void walk_loop(const Program& program, const Plan& plan, const PlainLoop& loop, const Visit& visit,
               const Close& close) {
  const InstructionId entered = program.instructions[loop.loop].entered;
  Turn turn = Turn::kEach;
  for (size_t i = 0; i < loop.turns.size(); ++i) {
    const auto id = static_cast<InstructionId>(entered + i);
    if (id == loop.decides || program.instructions[id].control == Control::kSwitch) close();
    if (plan.modes[id] == InstructionMode::kSkip) continue;
    if (loop.turns[i] != turn) close();
    turn = loop.turns[i];
    visit(id);
  }
  close();
}

/// visit(id) for every instruction outside of loops, and in these ones, that has something to run, in launch order;
/// close() where no group goes on: at a loop, and at the end.
template <class Visit, class Close>
void walk_groups(const Program& program, const Plan& plan, const std::vector<PlainLoop>& loops, const Visit& visit,
                 const Close& close) {
  for (InstructionId id = 0; id < program.instructions.size(); ++id) {
    if (program.instructions[id].kind == InstructionKind::kLoop) {
      close();
      if (const PlainLoop* plain = find_loop(loops, id)) walk_loop(program, plan, *plain, visit, close);
      id = program.instructions[id].body_end - 1;
    } else if (plan.modes[id] != InstructionMode::kSkip) {
      visit(id);
    }
  }
  close();
}

}  // namespace emplace
