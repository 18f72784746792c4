#include "core/run/plain_loop_run.h"

#include <algorithm>
#include <utility>

#include "core/op/run_kernel.h"
#include "core/run/arrivals.h"
#include "core/run/fused_groups.h"
#include "core/run/fused_kernel.h"

namespace emplace {

PlainLoopRun::PlainLoopRun(PreparedProgram& p, SlotOperands& operands, const PlainLoop& loop)
    : p_(p), operands_(operands), loop_(loop) {
  const Instruction& l = p.program.instructions[loop.loop];
  auto group = std::lower_bound(p.plan.groups.begin(), p.plan.groups.end(), loop.loop,
                                [](const FusedGroup& g, InstructionId id) { return g.first() < id; });
  for (InstructionId id = l.entered; id < l.body_end; ++id) {
    if (group == p.plan.groups.end() || group->first() != id) {
      list(id, loop.turns[id - l.entered]);
      continue;
    }
    made_.push_back(std::make_unique<FusedKernel>(*group, p.program, p.plan, p.bound, p.values));
    list_direct(*made_.back(), all_of(*group), loop.turns[id - l.entered]);
    id = group++->last();
  }
  for (InstructionId id = loop.loop + 1; id < l.body_end; ++id) {
    const Instruction& s = p.program.instructions[id];
    if (s.control == Control::kExit) continue;
    for (const ValueId v : p.program.outputs(s)) {
      if (p.plan.values[v].storage == Storage::kSlot && p.plan.values[v].same_as == kNoValue) own_.push_back(v);
    }
  }
}

void PlainLoopRun::list(InstructionId id, Turn turn) {
  const Instruction& s = p_.program.instructions[id];
  if (s.control == Control::kMerge) {
    const ValueId merged = p_.program.outputs(s)[0];
    const auto v = std::find_if(loop_.variables.begin(), loop_.variables.end(),
                                [&](const LoopVariable& each) { return each.merged == merged; });
    parts_.push_back({Does::kMerge, turn, id, &*v});
  } else if (s.control == Control::kSwitch) {
    parts_.push_back({Does::kSwitch, Turn::kLast, id});
  } else if (id == loop_.decides) {
    if (p_.plan.modes[id] != InstructionMode::kSkip) parts_.push_back({Does::kKernel, turn, id});
    parts_.push_back({Does::kDecide, turn, id});
  } else if (p_.plan.modes[id] == InstructionMode::kDirect) {
    list_direct(*p_.bound[id].kernel, {&id, 1}, turn);
    return;
  } else if (p_.plan.modes[id] != InstructionMode::kSkip) {
    parts_.push_back({Does::kKernel, turn, id});
    return;
  }
  if (!operands_.releases()[id].empty()) parts_.push_back({Does::kRelease, turn, id});
}

void PlainLoopRun::list_direct(Kernel& kernel, std::span<const InstructionId> instructions, Turn turn) {
  Kernel* launched = &kernel;
  if (auto arrivals = Arrivals::find(p_, instructions, kernel, operands_.releases())) {
    launched = arrivals.get();
    made_.push_back(std::move(arrivals));
  }
  parts_.push_back({Does::kDirect, turn, instructions.front(), nullptr, launched});
}

Status PlainLoopRun::run() {
  bool goes_on = true;
  for (bool is_first = true; goes_on; is_first = false) {
    if (p_.runtime.stop.asked()) return p_.runtime.stop.status();  // there may be no kernel that looks
    RETURN_IF_ERROR(run_iteration(is_first, goes_on));
  }
  for (const ValueId v : own_) p_.values[v] = Tensor();
  return ok_status();
}

Status PlainLoopRun::run_iteration(bool is_first, bool& goes_on) {
  for (const Part& part : parts_) {
    // Nobody runs before it is decided who does not wait for that.
    if (part.turn != Turn::kEach && goes_on != (part.turn == Turn::kGoingOn)) continue;
    switch (part.does) {
      case Does::kDirect: {
        if (p_.runtime.stop.asked()) return p_.runtime.stop.status();
        Status status = emplace::run_kernel(*part.kernel, p_.bound[part.instruction].context);
        if (!status.ok()) return p_.blame(std::move(status), part.instruction);
        break;
      }
      case Does::kKernel:
        if (p_.runtime.stop.asked()) return p_.runtime.stop.status();
        if (Status status = run_kernel(part.instruction); !status.ok())
          return p_.blame(std::move(status), part.instruction);
        break;
      case Does::kMerge:
        merge(*part.variable, is_first);
        break;
      case Does::kSwitch: {
        const Instruction& s = p_.program.instructions[part.instruction];
        p_.values[p_.program.outputs(s)[0]] = p_.values[p_.plan.source(p_.program.inputs(s)[0])];
        break;
      }
      case Does::kDecide:
        goes_on = *p_.values[loop_.condition].data<bool>();
        break;
      case Does::kRelease:
        operands_.release(part.instruction);
        break;
    }
  }
  return ok_status();
}

void PlainLoopRun::merge(const LoopVariable& variable, bool is_first) {
  if (!is_first && variable.next == variable.merged) return;
  Tensor& from = p_.values[is_first ? variable.entered : variable.next];
  Tensor& to = p_.values[variable.merged];
  if (is_first ? variable.takes_entered : variable.takes_next)
    to = std::exchange(from, Tensor());
  else
    to = from;
}

Status PlainLoopRun::run_kernel(InstructionId id) {
  BoundInstruction& b = p_.bound[id];
  RETURN_IF_ERROR(operands_.gather_in_plain_loop(id));
  RETURN_IF_ERROR(operands_.settle_outputs(id));
  RETURN_IF_ERROR(emplace::run_kernel(*b.kernel, b.context));
  operands_.scatter(id);
  operands_.let_go_of_inputs(id);
  operands_.release(id);
  return ok_status();
}

}  // namespace emplace
