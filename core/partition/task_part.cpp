#include "core/partition/task_part.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include "core/base/cat.h"
#include "core/partition/early_sends.h"
#include "core/partition/growing_part.h"
#include "core/partition/meetings.h"
#include "core/partition/task_work.h"

namespace emplace {
namespace {

bool is_counted(const Program& whole, const Instruction& copy) {
  const PlacedValue &from = whole.values[whole.inputs(copy)[0]], &to = whole.values[whole.outputs(copy)[0]];
  return from.producer != kNoInstruction && from.device != to.device;
}

/// The members of collectives among tasks, each with its place. Those of one name stand together (check_meetings()), so
/// that all tasks come to them in the same order.
std::map<InstructionId, int> ranks_among_tasks(const Graph& graph, const Program& whole, const TaskMap& tasks) {
  std::map<std::string_view, std::vector<InstructionId>> meetings;
  for (InstructionId id = 0; id < whole.instructions.size(); ++id) {
    const Instruction& s = whole.instructions[id];
    if (s.kind == InstructionKind::kNode && is_collective(graph, s.node))
      meetings[meeting_of(graph, s.node)].push_back(id);
  }
  std::map<InstructionId, int> ranks;
  for (const auto& [name, members] : meetings) {
    const auto task = [&](InstructionId id) { return tasks.of[whole.instructions[id].device]; };
    const bool on_one = std::all_of(members.begin(), members.end(),
                                    [&, first = task(members.front())](InstructionId id) { return task(id) == first; });
    for (size_t i = 0; i < members.size() && !on_one; ++i) ranks[members[i]] = static_cast<int>(i);
  }
  return ranks;
}

class PartMaker {
 public:
  PartMaker(const GraphFile& file, const Program& whole, const TaskMap& tasks, TaskId task)
      : graph_(file.graph),
        whole_(whole),
        tasks_(tasks),
        self_(task),
        work_(whole, tasks),
        early_(whole, tasks, task),
        rank_(ranks_among_tasks(file.graph, whole, tasks)),
        part_(whole, tasks, task),
        next_copy_(static_cast<uint32_t>(whole.instructions.size())) {}

  Result<Program> make() {
    for (InstructionId id = 0; id < whole_.instructions.size(); ++id) {
      close_loops(id);
      RETURN_IF_ERROR(add(id));
      for (const auto& [producer, copy] : early_.of(id)) add_send(copy);
      if (const InstructionId loop = work_.loop_decided_by(id); loop != kNoInstruction) add_decisions(id, loop);
    }
    close_loops(static_cast<InstructionId>(whole_.instructions.size()));
    for (const auto& [operand, v] : back_edges_) part_.program.operands[operand] = part_.value(v);
    finish();
    return std::move(part_.program);
  }

 private:
  bool mine(InstructionId id) const { return work_.is_on(id, self_); }

  void close_loops(InstructionId at) {
    auto& instructions = part_.program.instructions;
    for (InstructionId loop : open_) {
      if (whole_.instructions[loop].entered == at) instructions[part_.instruction(loop)].entered = part_.next();
    }
    while (!open_.empty() && whole_.instructions[open_.back()].body_end == at) {
      instructions[part_.instruction(open_.back())].body_end = part_.next();
      open_.pop_back();
    }
  }

  Status add(InstructionId id) {
    const Instruction& s = whole_.instructions[id];
    if (crosses_tasks(whole_, tasks_, id)) return add_crossing(id);
    add_crossing_controls(id);
    if (!mine(id)) return ok_status();
    RETURN_IF_ERROR(check_inputs(s));
    Instruction own = s;
    own.device = s.kind == InstructionKind::kLoop ? part_.host() : part_.device(s.device);
    part_.begin(own);
    for (const ValueId v : whole_.inputs(s)) {
      const ValueId input = part_.value(v);
      if (input == kNoValue) back_edges_.emplace_back(part_.program.operands.size(), v);
      part_.program.operands.push_back(input);
    }
    part_.add_outputs(id);
    add_controls(own, s);
    if (s.kind == InstructionKind::kLoop) open_.push_back(id);
    if (const auto rank = rank_.find(id); rank != rank_.end())
      part_.program.members.push_back({part_.next(), rank->second});
    if (s.kind == InstructionKind::kCopy && is_counted(whole_, s)) ++part_.program.num_copies;
    part_.add(own);
    return ok_status();
  }

  Status check_inputs(const Instruction& s) const {
    for (const ValueId v : whole_.inputs(s)) {
      if (v == kNoValue || work_.task_of_value(v) == self_) continue;
      return unimplemented(cat("'", graph_.name(s.node), "' on ", tasks_.names[self_], " uses the variable of '",
                               graph_.name(whole_.values[v].tensor.node), "', which is on ",
                               tasks_.names[work_.task_of_value(v)]));
    }
    return ok_status();
  }

  void add_controls(Instruction& own, const Instruction& of_whole) {
    auto& controls = part_.program.controls;
    for (const InstructionId control : whole_.controls_of(of_whole)) {
      const InstructionId there = mine(control) ? part_.instruction(control) : received_control(control);
      if (there != kNoInstruction) controls.push_back(there);
    }
    own.num_controls = static_cast<uint32_t>(controls.size()) - own.first_control;
  }

  // A copy from task to task.
  Status add_crossing(InstructionId id) {
    const Instruction& s = whole_.instructions[id];
    const ValueId from = whole_.inputs(s)[0];
    const InstructionId producer = whole_.values[from].producer;
    const TaskId sender = work_.task_of_value(from), receiver = work_.task_of(id);
    if (producer != kNoInstruction && whole_.instructions[producer].kind == InstructionKind::kConstant) {
      if (receiver == self_) add_constant(id, producer);
      return ok_status();
    }
    if (sender == self_) {
      if (!EarlySends::is_early(whole_, id)) add_send(id);
    } else if (receiver == self_) {
      Instruction receive = part_.transfer(InstructionKind::kReceive, whole_.values[from].tensor.node, s.may_be_dead);
      receive.in_loop = s.in_loop;
      part_.add_outputs(id);
      receive.num_outputs = 1;
      part_.add_transfer(receive, id, sender);
    }
    return ok_status();
  }

  void add_send(InstructionId copy) {
    const Instruction& s = whole_.instructions[copy];
    const ValueId from = whole_.inputs(s)[0];
    Instruction send = part_.transfer(InstructionKind::kSend, whole_.values[from].tensor.node, s.may_be_dead);
    send.in_loop = !open_.empty();  // what enters a loop of others is sent once
    send.num_inputs = 1;
    part_.program.operands.push_back(part_.value(from));
    part_.add_transfer(send, copy, work_.task_of(copy));
    part_.program.num_copies += is_counted(whole_, s);
  }

  // The value of a constant of another task, which all know.
  void add_constant(InstructionId id, InstructionId constant) {
    Instruction own = whole_.instructions[constant];
    own.device = part_.device(whole_.instructions[id].device);
    own.in_loop = whole_.instructions[id].in_loop;
    part_.begin(own);
    own.num_controls = 0;
    part_.add_outputs(id);
    part_.add(own);
  }

  // Before the first reader on a task, whoever it is that runs here.
  void add_crossing_controls(InstructionId id) {
    const Instruction& s = whole_.instructions[id];
    for (const InstructionId control : whole_.controls_of(s)) {
      const TaskId sender = work_.task_of(control), receiver = work_.task_of(id);
      const Instruction& source = whole_.instructions[control];
      if (sender == receiver || source.kind == InstructionKind::kConstant) continue;
      const auto [it, is_new] = controls_.try_emplace(key(control, receiver), kNoInstruction);
      if (!is_new) continue;
      const uint32_t copy = next_copy_++;
      if (sender == self_) {
        Instruction send = part_.transfer(InstructionKind::kSend, source.node, source.may_be_dead);
        send.in_loop = !open_.empty();
        send.num_controls = 1;
        part_.program.controls.push_back(part_.instruction(control));
        part_.add_transfer(send, copy, receiver);
      } else if (receiver == self_) {
        it->second = part_.next();
        Instruction receive = part_.transfer(InstructionKind::kReceive, source.node, source.may_be_dead);
        receive.in_loop = s.in_loop;
        part_.add_transfer(receive, copy, sender);
      }
    }
  }

  // Whether a loop goes on: does this NextIteration of it run?
  void add_decisions(InstructionId next, InstructionId loop) {
    const TaskId sender = work_.task_of(next);
    for (const TaskId receiver : work_.tasks_of_loop(loop)) {
      if (receiver == sender) continue;
      const uint32_t copy = next_copy_++;
      if (self_ != sender && self_ != receiver) continue;
      const NodeId node = whole_.instructions[next].node;
      const auto kind = self_ == sender ? InstructionKind::kSend : InstructionKind::kReceive;
      Instruction made = part_.transfer(kind, node, true);
      made.control = Control::kNextIteration;
      made.in_loop = true;
      if (self_ == sender) {
        made.num_controls = 1;
        part_.program.controls.push_back(part_.instruction(next));
      }
      part_.add_transfer(made, copy, self_ == sender ? receiver : sender);
    }
  }

  static uint64_t key(InstructionId control, TaskId reader) { return uint64_t{control} << 16 | reader; }
  // kNoInstruction: of a constant.
  InstructionId received_control(InstructionId control) const {
    const auto found = controls_.find(key(control, self_));
    return found == controls_.end() ? kNoInstruction : found->second;
  }

  void finish() {
    Program& part = part_.program;
    for (const ValueId v : whole_.feeds)
      part.feeds.push_back(v == kNoValue || work_.task_of_value(v) != self_ ? kNoValue : part_.value(v));
    for (const ValueId v : whole_.fetches) {
      if (work_.task_of_value(v) == self_) part.fetches.push_back(part_.value(v));
    }
    part.num_constant_feeds = whole_.num_constant_feeds;
    if (whole_.guard != kNoInstruction && mine(whole_.guard)) part.guard = part_.instruction(whole_.guard);
    part.host = part_.host();
    part.has_loops = std::any_of(part.instructions.begin(), part.instructions.end(),
                                 [](const Instruction& s) { return s.kind == InstructionKind::kLoop; });
  }

  const Graph& graph_;
  const Program& whole_;
  const TaskMap& tasks_;
  const TaskId self_;
  const TaskWork work_;
  const EarlySends early_;
  const std::map<InstructionId, int> rank_;  // of members of collectives among tasks
  GrowingPart part_;
  std::vector<InstructionId> open_;                     // loops of this task that have begun
  std::vector<std::pair<size_t, ValueId>> back_edges_;  // operands that a NextIteration further on makes
  // By source and task of the reader: the instruction that receives it here; kNoInstruction: another task's.
  std::unordered_map<uint64_t, InstructionId> controls_;
  uint32_t next_copy_;  // numbers of control edges stand behind those of instructions
};

}  // namespace

Result<Program> part_of(const GraphFile& file, const Program& whole, const TaskMap& tasks, TaskId task) {
  return PartMaker(file, whole, tasks, task).make();
}

}  // namespace emplace
