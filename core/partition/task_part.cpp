#include "core/partition/task_part.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/base/cat.h"
#include "core/partition/growing_part.h"

namespace emplace {
namespace {

bool is_counted(const Program& whole, const Instruction& copy) {
  const PlacedValue &from = whole.values[whole.inputs(copy)[0]], &to = whole.values[whole.outputs(copy)[0]];
  return from.producer != kNoInstruction && from.device != to.device;
}

class PartMaker {
 public:
  PartMaker(const GraphFile& file, const Program& whole, const Crossings& crossings, const TaskMap& tasks, TaskId task)
      : graph_(file.graph),
        whole_(whole),
        crossings_(crossings),
        tasks_(tasks),
        self_(task),
        work_(crossings.work()),
        part_(whole, tasks, task) {}

  Result<Program> make() {
    for (const InstructionId id : crossings_.of_task(self_)) {
      close_loops(id);
      RETURN_IF_ERROR(add(id));
      if (work_.task_of(id) == self_) {
        for (const auto& [producer, copy] : crossings_.early().of(id)) add_send(copy);
      }
      if (const InstructionId loop = work_.loop_decided_by(id); loop != kNoInstruction) add_decisions(id, loop);
    }
    close_loops(static_cast<InstructionId>(whole_.instructions.size()));
    for (const auto& [operand, v] : back_edges_) part_.program.operands[operand] = part_.value(v);
    finish();
    return std::move(part_.program);
  }

 private:
  bool mine(InstructionId id) const { return work_.is_on(id, self_); }

  // Those that end, or are entered, up to here.
  void close_loops(InstructionId at) {
    auto& instructions = part_.program.instructions;
    for (OpenLoop& loop : open_) {
      if (loop.is_entered || whole_.instructions[loop.id].entered > at) continue;
      loop.is_entered = true;
      instructions[part_.instruction(loop.id)].entered = part_.next();
    }
    while (!open_.empty() && whole_.instructions[open_.back().id].body_end <= at) {
      instructions[part_.instruction(open_.back().id)].body_end = part_.next();
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
    if (s.kind == InstructionKind::kLoop) open_.push_back({id});
    if (const auto rank = crossings_.rank(id)) part_.program.members.push_back({part_.next(), *rank});
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

  void add_crossing_controls(InstructionId id) {
    for (const Crossings::Control& c : crossings_.controls_before(id)) {
      const Instruction& source = whole_.instructions[c.source];
      if (c.sender == self_) {
        Instruction send = part_.transfer(InstructionKind::kSend, source.node, source.may_be_dead);
        send.in_loop = !open_.empty();
        send.num_controls = 1;
        part_.program.controls.push_back(part_.instruction(c.source));
        part_.add_transfer(send, c.copy, c.receiver);
      } else if (c.receiver == self_) {
        controls_[c.source] = part_.next();
        Instruction receive = part_.transfer(InstructionKind::kReceive, source.node, source.may_be_dead);
        receive.in_loop = whole_.instructions[id].in_loop;
        part_.add_transfer(receive, c.copy, c.sender);
      }
    }
  }

  // Whether a loop goes on: does this NextIteration of it run?
  void add_decisions(InstructionId next, InstructionId loop) {
    const TaskId sender = work_.task_of(next);
    uint32_t next_copy = crossings_.first_decision(next);
    for (const TaskId receiver : work_.tasks_of_loop(loop)) {
      if (receiver == sender) continue;
      const uint32_t copy = next_copy++;
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

  // kNoInstruction: of a constant.
  InstructionId received_control(InstructionId control) const {
    const auto found = controls_.find(control);
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

  struct OpenLoop {
    InstructionId id;
    bool is_entered = false;
  };

  const Graph& graph_;
  const Program& whole_;
  const Crossings& crossings_;
  const TaskMap& tasks_;
  const TaskId self_;
  const TaskWork& work_;
  GrowingPart part_;
  std::vector<OpenLoop> open_;                                 // loops of this task that have begun
  std::vector<std::pair<size_t, ValueId>> back_edges_;         // operands that a NextIteration further on makes
  std::unordered_map<InstructionId, InstructionId> controls_;  // received here, by source
};

}  // namespace

WholeProgram::WholeProgram(const GraphFile& file, const DeviceSet& devices, const TaskMap& tasks, Program whole)
    : program(std::move(whole)),
      hash(program_hash(file.graph, devices, program)),
      file_(file),
      tasks_(tasks),
      crossings_(file.graph, program, tasks) {}

Result<Program> WholeProgram::part_of(TaskId task) const {
  return PartMaker(file_, program, crossings_, tasks_, task).make();
}

}  // namespace emplace
