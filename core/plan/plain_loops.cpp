#include "core/plan/plain_loops.h"

#include <algorithm>
#include <optional>

#include "core/plan/output_rule.h"

namespace emplace {
namespace {

/// Says when the nodes of one loop run, if that can be said.
class TurnFinder {
 public:
  TurnFinder(const Graph& graph, const DeviceSet& devices, const Program& program, const std::vector<uint8_t>& fetched)
      : graph_(graph),
        devices_(devices),
        program_(program),
        fetched_(fetched),
        of_value_(program.values.size(), Turn::kNever) {}

  std::optional<PlainLoop> find(InstructionId loop) {
    found_ = {loop, kNoValue, kNoInstruction, {}, {}};
    const Instruction& l = program_.instructions[loop];
    for (InstructionId id = loop + 1; id < l.entered; ++id) {
      if (!enters(program_.instructions[id])) return std::nullopt;
    }
    for (InstructionId id = l.entered; id < l.body_end; ++id) {
      const Turn turn = is_simple(program_.instructions[id]) ? turn_of(id) : Turn::kNever;
      if (turn == Turn::kNever) return std::nullopt;
      found_.turns.push_back(turn);
    }
    if (found_.condition == kNoValue) return std::nullopt;
    return std::move(found_);
  }

 private:
  InstructionId producer(ValueId v) const { return program_.values[v].producer; }
  bool may_be_dead(ValueId v) const {
    return producer(v) != kNoInstruction && program_.instructions[producer(v)].may_be_dead;
  }
  // A node on a CPU whose results are tensors that only the loop reads.
  bool is_simple(const Instruction& s) const {
    if (s.kind != InstructionKind::kNode || devices_.at(s.device).type != "CPU") return false;
    const auto outputs = program_.outputs(s);
    return std::none_of(outputs.begin(), outputs.end(), [&](ValueId v) {
      return is_ref(program_.values[v].dtype) || (fetched_[v] && s.control != Control::kExit);
    });
  }

  bool enters(const Instruction& s) {
    if (!is_simple(s) || s.control != Control::kEnter || may_be_dead(program_.inputs(s)[0])) return false;
    for (const InstructionId c : program_.controls_of(s)) {
      if (program_.instructions[c].may_be_dead) return false;
    }
    // What a Merge takes at the beginning is there for nobody else.
    const bool stays = graph_.attrs(s.node).flag("is_constant");
    of_value_[program_.outputs(s)[0]] = stays ? Turn::kEach : Turn::kNever;
    return true;
  }

  static Turn both(Turn a, Turn b) {
    if (a == Turn::kEach) return b;
    return b == Turn::kEach || a == b ? a : Turn::kNever;
  }
  bool in_body(InstructionId id) const { return id > found_.loop && id < program_.instructions[found_.loop].body_end; }
  Turn of_instruction(InstructionId id) const {
    const Instruction& l = program_.instructions[found_.loop];
    if (id >= l.entered) return id - l.entered < found_.turns.size() ? found_.turns[id - l.entered] : Turn::kNever;
    if (id > found_.loop) return of_value_[program_.outputs(program_.instructions[id])[0]];
    return program_.instructions[id].may_be_dead ? Turn::kNever : Turn::kEach;
  }
  // Of what it waits for.
  Turn of_inputs(const Instruction& s) const {
    Turn turn = Turn::kEach;
    for (const ValueId v : program_.inputs(s)) {
      if (producer(v) == kNoInstruction || !in_body(producer(v))) return Turn::kNever;
      turn = both(turn, of_value_[v]);
    }
    return both(turn, of_controls(s));
  }
  Turn of_controls(const Instruction& s) const {
    Turn turn = Turn::kEach;
    for (const InstructionId c : program_.controls_of(s)) turn = both(turn, of_instruction(c));
    return turn;
  }

  Turn turn_of(InstructionId id) {
    const Instruction& s = program_.instructions[id];
    Turn turn = Turn::kNever;
    switch (s.control) {
      case Control::kMerge:
        turn = merges(s) ? Turn::kEach : Turn::kNever;
        break;
      case Control::kSwitch:
        return switches(s);
      case Control::kExit:
        turn = both(of_inputs(s), Turn::kLast);
        break;
      case Control::kNextIteration:
        turn = of_inputs(s) == Turn::kGoingOn ? Turn::kGoingOn : Turn::kNever;  // one that does not wait has no end
        break;
      case Control::kNone:
        turn = of_inputs(s);
        if (graph_.traits(s.node).loop_condition) {
          if (turn != Turn::kEach || found_.condition != kNoValue) return Turn::kNever;
          found_.condition = program_.outputs(s)[0];
          found_.decides = id;
        }
        break;
      default:
        break;
    }
    if (turn != Turn::kEach && found_.condition == kNoValue) return Turn::kNever;  // it would run before it is decided
    for (const ValueId v : program_.outputs(s)) of_value_[v] = turn;
    if (s.control == Control::kMerge) of_value_[program_.outputs(s)[1]] = Turn::kNever;  // nobody says which it took
    return turn;
  }

  bool merges(const Instruction& s) {
    if (s.num_inputs != 2 || s.num_controls > 0) return false;
    // What they take is what the iteration before left: nobody may have made another.
    if (found_.turns.size() != found_.variables.size()) return false;
    auto [entered, next] = std::pair(program_.inputs(s)[0], program_.inputs(s)[1]);
    const auto is = [&](ValueId v, Control control) {
      return producer(v) != kNoInstruction && in_body(producer(v)) &&
             program_.instructions[producer(v)].control == control;
    };
    if (is(next, Control::kEnter)) std::swap(entered, next);
    if (!is(entered, Control::kEnter) || !is(next, Control::kNextIteration)) return false;
    if (of_value_[entered] != Turn::kNever) return false;  // one that stays is alive beside the other
    found_.variables.push_back({program_.outputs(s)[0], entered, next, false, false});
    return true;
  }

  Turn switches(const Instruction& s) {
    if (s.num_outputs != 2 || s.num_inputs != 2 || found_.condition == kNoValue) return Turn::kNever;
    if (program_.inputs(s)[1] != found_.condition || of_inputs(s) != Turn::kEach) return Turn::kNever;
    of_value_[program_.outputs(s)[0]] = Turn::kLast;
    of_value_[program_.outputs(s)[1]] = Turn::kGoingOn;
    return Turn::kEach;
  }

  const Graph& graph_;
  const DeviceSet& devices_;
  const Program& program_;
  const std::vector<uint8_t>& fetched_;  // by value
  std::vector<Turn> of_value_;
  PlainLoop found_;
};

// As partition() has it: dead with one of its inputs, a Merge with all of them.
void revive(const Program& program, Instruction& s) {
  if (!s.may_be_dead || s.control == Control::kSwitch || is_transfer(s)) return;
  const auto mortal = [&](ValueId v) {
    const InstructionId producer = program.values[v].producer;
    return producer != kNoInstruction && program.instructions[producer].may_be_dead;
  };
  const auto inputs = program.inputs(s);
  if (s.control == Control::kMerge) {
    s.may_be_dead = std::all_of(inputs.begin(), inputs.end(), mortal);
    return;
  }
  const auto controls = program.controls_of(s);
  s.may_be_dead = std::any_of(inputs.begin(), inputs.end(), mortal) ||
                  std::any_of(controls.begin(), controls.end(),
                              [&](InstructionId c) { return program.instructions[c].may_be_dead; });
}

/// Gives values of one loop the names of those that they are, so that nothing is left to run for them.
class LoopNames {
 public:
  LoopNames(const Graph& graph, const Program& program, Plan& plan, PlainLoop& loop)
      : graph_(graph), program_(program), plan_(plan), loop_(loop) {}

  void give() {
    const Instruction& l = program_.instructions[loop_.loop];
    for (InstructionId id = l.entered; id < l.body_end; ++id) name(id);
    for (LoopVariable& v : loop_.variables) v.next = plan_.source(v.next);
    loop_.condition = plan_.source(loop_.condition);
    for (size_t i = 0; i < loop_.variables.size(); ++i) find_takers(i);
  }

 private:
  ValuePlan& at(ValueId v) { return plan_.values[v]; }
  Control control(ValueId v) const { return program_.instructions[program_.values[v].producer].control; }
  ValueId source_of_input(const Instruction& s) const { return plan_.source(program_.inputs(s)[0]); }
  // What has a fixed place has two names there; what is found in a slot is found there under both.
  void share(InstructionId id, ValueId out, ValueId from) {
    plan_.modes[id] = InstructionMode::kSkip;
    if (at(from).storage == Storage::kSlot) {
      at(out).same_as = from;
      return;
    }
    at(out).storage = at(from).storage;
    at(out).shape = at(from).shape;
    at(out).known = at(from).known;
    at(out).varies = at(from).varies;
    at(out).buffer = at(from).buffer;
  }

  void name(InstructionId id) {
    const Instruction& s = program_.instructions[id];
    const OpTraits& traits = graph_.traits(s.node);
    const auto outputs = program_.outputs(s);
    if (plan_.modes[id] == InstructionMode::kSkip) return;
    if (s.control == Control::kMerge) {
      plan_.modes[id] = InstructionMode::kSkip;
    } else if (s.control == Control::kSwitch) {
      share(id, outputs[1], source_of_input(s));
    } else if (s.control == Control::kNextIteration) {
      if (can_stay(source_of_input(s), outputs[0])) share(id, outputs[0], source_of_input(s));
    } else if (traits.loop_condition) {
      if (at(source_of_input(s)).shape == Shape{})
        share(id, outputs[0], source_of_input(s));  // else it says what it is
    } else if (traits.identity && s.control == Control::kNone) {
      share(id, outputs[0], source_of_input(s));
    } else if (traits.does_nothing) {
      plan_.modes[id] = InstructionMode::kSkip;
    }
  }

  // Until the next iteration takes it from there: not in a block, which others use then, nor where it may be the bytes
  // of something in a block, nor where another variable is, whose value changes before, or after.
  bool can_stay(ValueId from, ValueId next) const {
    const ValuePlan& plan = plan_.values[from];
    if (plan.storage != Storage::kSlot) return plan.storage == Storage::kFixed;
    if (control(from) == Control::kMerge) {
      return std::any_of(loop_.variables.begin(), loop_.variables.end(),
                         [&](const LoopVariable& v) { return v.merged == from && v.next == next; });
    }
    if (control(from) == Control::kEnter || dtype_size(program_.values[from].dtype) == 0) return true;
    return output_rule(graph_, program_, program_.instructions[program_.values[from].producer]) == OutputRule::kOwn;
  }

  void find_takers(size_t i) {
    LoopVariable& v = loop_.variables[i];
    const auto behind = loop_.variables.begin() + static_cast<ptrdiff_t>(i) + 1;
    const auto none_behind = [&](auto same) { return std::none_of(behind, loop_.variables.end(), same); };
    v.takes_entered = none_behind([&](const LoopVariable& o) { return o.entered == v.entered; });
    v.takes_next = at(v.next).storage == Storage::kSlot && control(v.next) != Control::kEnter &&
                   none_behind([&](const LoopVariable& o) { return o.next == v.next; });
  }

  const Graph& graph_;
  const Program& program_;
  Plan& plan_;
  PlainLoop& loop_;
};

}  // namespace

std::vector<PlainLoop> find_plain_loops(const Graph& graph, const DeviceSet& devices, Program& program) {
  std::vector<PlainLoop> found;
  if (!program.has_loops) return found;
  std::vector<uint8_t> fetched(program.values.size());
  for (const ValueId v : program.fetches) fetched[v] = 1;
  const bool of_one_task = program.transfers.empty() &&
                           std::all_of(program.instructions.begin(), program.instructions.end(),
                                       [&](const Instruction& s) { return devices.at(s.device).type == "CPU"; });
  TurnFinder finder(graph, devices, program, fetched);
  for (InstructionId id = 0; id < program.instructions.size(); ++id) {
    Instruction& s = program.instructions[id];
    if (s.kind != InstructionKind::kLoop) {
      if (of_one_task && !s.in_loop) revive(program, s);
      continue;
    }
    auto loop = s.in_loop ? std::nullopt : finder.find(id);
    if (!loop) continue;
    for (InstructionId in = s.entered; of_one_task && in < s.body_end; ++in) {
      if (program.instructions[in].control == Control::kExit) program.instructions[in].may_be_dead = false;
    }
    found.push_back(*std::move(loop));
  }
  return found;
}

void name_loop_values(const Graph& graph, const Program& program, Plan& plan, std::vector<PlainLoop>& loops) {
  for (PlainLoop& loop : loops) LoopNames(graph, program, plan, loop).give();
}

const PlainLoop* find_loop(const std::vector<PlainLoop>& loops, InstructionId id) {
  const auto at = std::lower_bound(loops.begin(), loops.end(), id,
                                   [](const PlainLoop& l, InstructionId wanted) { return l.loop < wanted; });
  return at != loops.end() && at->loop == id ? &*at : nullptr;
}

}  // namespace emplace
