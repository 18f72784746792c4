#include "core/partition/task_part.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "core/base/cat.h"
#include "core/partition/early_sends.h"
#include "core/partition/meetings.h"

namespace emplace {
namespace {

bool is_counted(const Program& whole, const Instruction& copy) {
  const PlacedValue &from = whole.values[whole.inputs(copy)[0]], &to = whole.values[whole.outputs(copy)[0]];
  return from.producer != kNoInstruction && from.device != to.device;
}

class PartMaker {
 public:
  PartMaker(const GraphFile& file, const Program& whole, const TaskMap& tasks, TaskId task)
      : graph_(file.graph), whole_(whole), tasks_(tasks), self_(task), early_(whole, tasks, task) {
    DeviceId next = 0;
    for (const TaskId of : tasks.of) own_device_.push_back(of == task ? next++ : kNoDevice);
    next_copy_ = static_cast<uint32_t>(whole.instructions.size());
  }

  Result<Program> make() {
    find_tasks();
    RETURN_IF_ERROR(check_collectives());
    value_.assign(whole_.values.size(), kNoValue);
    instruction_.assign(whole_.instructions.size(), kNoInstruction);
    for (InstructionId id = 0; id < whole_.instructions.size(); ++id) {
      close_loops(id);
      RETURN_IF_ERROR(add(id));
      for (const auto& [producer, copy] : early_.of(id)) add_send(copy);
      if (const auto loop = decided_by_.find(id); loop != decided_by_.end()) add_decisions(id, loop->second);
    }
    close_loops(static_cast<InstructionId>(whole_.instructions.size()));
    for (const auto& [operand, v] : back_edges_) part_.operands[operand] = value_[v];
    finish();
    return std::move(part_);
  }

 private:
  bool mine(InstructionId id) const {
    const auto loop = loop_tasks_.find(id);
    return loop == loop_tasks_.end() ? task_of_[id] == self_ : loop->second.contains(self_);
  }
  TaskId task_of_value(ValueId v) const { return tasks_.of[whole_.values[v].device]; }
  const std::string& task_name(TaskId task) const { return tasks_.names[task]; }

  void find_tasks() {
    for (const Instruction& s : whole_.instructions) task_of_.push_back(tasks_.of[s.device]);
    for (InstructionId id = 0; id < whole_.instructions.size(); ++id) {
      if (whole_.instructions[id].kind == InstructionKind::kLoop) find_tasks_of_loop(id);
    }
  }

  // Those that have a node of it, in a loop inside it, too; and who tells them whether it goes on.
  void find_tasks_of_loop(InstructionId id) {
    const InstructionId end = whole_.instructions[id].body_end;
    std::set<TaskId>& on = loop_tasks_[id];
    for (InstructionId in = id + 1; in < end; ++in) {
      if (whole_.instructions[in].kind != InstructionKind::kLoop) on.insert(task_of_[in]);
    }
    for (InstructionId in = id + 1; in < end && on.size() > 1; ++in) {
      const Instruction& s = whole_.instructions[in];
      if (s.kind == InstructionKind::kLoop) {
        in = s.body_end - 1;
      } else if (s.control == Control::kNextIteration) {
        decided_by_[in] = id;
        break;
      }
    }
  }

  Status check_collectives() const {
    TaskId task = kNoTask;
    for (InstructionId id = 0; id < whole_.instructions.size(); ++id) {
      const Instruction& s = whole_.instructions[id];
      if (s.kind != InstructionKind::kNode || !is_collective(graph_, s.node)) continue;
      if (task == kNoTask) task = task_of_[id];
      if (task != task_of_[id])
        return unimplemented(cat("'", graph_.name(s.node), "' on ", task_name(task_of_[id]), " would meet nodes on ",
                                 task_name(task), "; a collective has to be on one task"));
    }
    return ok_status();
  }

  void close_loops(InstructionId at) {
    const auto here = static_cast<InstructionId>(part_.instructions.size());
    for (InstructionId loop : open_) {
      if (whole_.instructions[loop].entered == at) part_.instructions[instruction_[loop]].entered = here;
    }
    while (!open_.empty() && whole_.instructions[open_.back()].body_end == at) {
      part_.instructions[instruction_[open_.back()]].body_end = here;
      open_.pop_back();
    }
  }

  Status add(InstructionId id) {
    const Instruction& s = whole_.instructions[id];
    if (crosses_tasks(whole_, tasks_, id)) return add_crossing(id);
    RETURN_IF_ERROR(add_crossing_controls(id));
    if (!mine(id)) return ok_status();
    for (const ValueId v : whole_.inputs(s)) {
      if (v != kNoValue && task_of_value(v) != self_) {
        return unimplemented(cat("'", graph_.name(s.node), "' on ", task_name(self_), " uses the variable of '",
                                 graph_.name(whole_.values[v].tensor.node), "', which is on ",
                                 task_name(task_of_value(v))));
      }
    }
    Instruction own = s;
    own.device = s.kind == InstructionKind::kLoop ? own_host() : own_device_[s.device];
    begin_operands(own);
    for (const ValueId v : whole_.inputs(s)) {
      // What a NextIteration makes, further on.
      if (value_[v] == kNoValue && whole_.values[v].producer != kNoInstruction)
        back_edges_.emplace_back(part_.operands.size(), v);
      part_.operands.push_back(own_value(v));
    }
    add_outputs(id);
    for (const InstructionId control : whole_.controls_of(s)) {
      const InstructionId there = mine(control) ? instruction_[control] : received_control(control);
      if (there != kNoInstruction) part_.controls.push_back(there);
    }
    own.num_controls = static_cast<uint32_t>(part_.controls.size()) - own.first_control;
    if (s.kind == InstructionKind::kLoop) open_.push_back(id);
    if (s.kind == InstructionKind::kCopy && is_counted(whole_, s)) ++part_.num_copies;
    part_.instructions.push_back(own);
    return ok_status();
  }

  // A copy from task to task.
  Status add_crossing(InstructionId id) {
    const Instruction& s = whole_.instructions[id];
    const ValueId from = whole_.inputs(s)[0];
    const InstructionId producer = whole_.values[from].producer;
    const TaskId sender = task_of_value(from), receiver = task_of_[id];
    if (producer != kNoInstruction && whole_.instructions[producer].kind == InstructionKind::kConstant) {
      if (receiver == self_) add_constant(id, producer);
      return ok_status();
    }
    if (sender == self_) {
      if (!EarlySends::is_early(whole_, id)) add_send(id);
    } else if (receiver == self_) {
      Instruction receive = transfer(InstructionKind::kReceive, whole_.values[from].tensor.node, s.may_be_dead);
      receive.in_loop = s.in_loop;
      add_outputs(id);
      receive.num_outputs = 1;
      add_transfer(receive, id, sender);
    }
    return ok_status();
  }

  void add_send(InstructionId copy) {
    const Instruction& s = whole_.instructions[copy];
    const ValueId from = whole_.inputs(s)[0];
    Instruction send = transfer(InstructionKind::kSend, whole_.values[from].tensor.node, s.may_be_dead);
    send.in_loop = !open_.empty();  // what enters a loop of others is sent once
    send.num_inputs = 1;
    part_.operands.push_back(own_value(from));
    add_transfer(send, copy, task_of_[copy]);
    part_.num_copies += is_counted(whole_, s);
  }

  // The value of a constant of another task, which all know.
  void add_constant(InstructionId id, InstructionId constant) {
    Instruction own = whole_.instructions[constant];
    own.device = own_device_[whole_.instructions[id].device];
    own.in_loop = whole_.instructions[id].in_loop;
    begin_operands(own);
    own.num_controls = 0;
    add_outputs(id);
    part_.instructions.push_back(own);
  }

  // Before the first reader on a task, whoever it is that runs here.
  Status add_crossing_controls(InstructionId id) {
    const Instruction& s = whole_.instructions[id];
    for (const InstructionId control : whole_.controls_of(s)) {
      const TaskId sender = task_of_[control], receiver = task_of_[id];
      const Instruction& source = whole_.instructions[control];
      if (sender == receiver || source.kind == InstructionKind::kConstant) continue;
      const auto [it, is_new] = controls_.try_emplace(uint64_t{control} << 16 | receiver, Crossing{next_copy_, {}});
      if (!is_new) continue;
      const uint32_t copy = next_copy_++;
      if (sender == self_) {
        Instruction send = transfer(InstructionKind::kSend, source.node, source.may_be_dead);
        send.in_loop = !open_.empty();
        send.num_controls = 1;
        part_.controls.push_back(instruction_[control]);
        add_transfer(send, copy, receiver);
      } else if (receiver == self_) {
        it->second.received = static_cast<InstructionId>(part_.instructions.size());
        Instruction receive = transfer(InstructionKind::kReceive, source.node, source.may_be_dead);
        receive.in_loop = s.in_loop;
        add_transfer(receive, copy, sender);
      }
    }
    return ok_status();
  }

  // Whether a loop goes on: does this NextIteration of it run?
  void add_decisions(InstructionId next, InstructionId loop) {
    const TaskId sender = task_of_[next];
    for (const TaskId receiver : loop_tasks_.at(loop)) {
      if (receiver == sender) continue;
      const uint32_t copy = next_copy_++;
      if (self_ != sender && self_ != receiver) continue;
      const NodeId node = whole_.instructions[next].node;
      Instruction made = transfer(self_ == sender ? InstructionKind::kSend : InstructionKind::kReceive, node, true);
      made.control = Control::kNextIteration;
      made.in_loop = true;
      if (self_ == sender) {
        made.num_controls = 1;
        part_.controls.push_back(instruction_[next]);
      }
      add_transfer(made, copy, self_ == sender ? receiver : sender);
    }
  }

  // kNoInstruction: of a constant.
  InstructionId received_control(InstructionId control) const {
    const auto found = controls_.find(uint64_t{control} << 16 | self_);
    return found == controls_.end() ? kNoInstruction : found->second.received;
  }

  Instruction transfer(InstructionKind kind, NodeId node, bool may_be_dead) {
    Instruction made;
    made.kind = kind;
    made.node = node;
    made.device = own_host();
    made.may_be_dead = may_be_dead;
    begin_operands(made);
    return made;
  }

  void add_transfer(const Instruction& made, uint32_t copy, TaskId peer) {
    part_.transfers.push_back({static_cast<InstructionId>(part_.instructions.size()), copy, peer});
    part_.instructions.push_back(made);
  }

  void begin_operands(Instruction& made) const {
    made.first_operand = static_cast<uint32_t>(part_.operands.size());
    made.first_control = static_cast<uint32_t>(part_.controls.size());
  }

  // The outputs of the instruction that is added next stand for those of this one of the whole program.
  void add_outputs(InstructionId id) {
    instruction_[id] = static_cast<InstructionId>(part_.instructions.size());
    for (const ValueId v : whole_.outputs(whole_.instructions[id])) {
      PlacedValue own = on_own_device(v);
      own.producer = instruction_[id];
      value_[v] = static_cast<ValueId>(part_.values.size());
      part_.operands.push_back(value_[v]);
      part_.values.push_back(own);
    }
  }

  ValueId own_value(ValueId v) {
    const bool fed = whole_.values[v].producer == kNoInstruction;
    if (value_[v] == kNoValue && fed) {
      value_[v] = static_cast<ValueId>(part_.values.size());
      part_.values.push_back(on_own_device(v));
    }
    return value_[v];
  }

  PlacedValue on_own_device(ValueId v) const {
    PlacedValue own = whole_.values[v];
    own.device = own_device_[own.device];
    own.home = own_device_[own.home];
    return own;
  }

  DeviceId own_host() const { return own_device_[tasks_.host[self_]]; }

  void finish() {
    for (const ValueId v : whole_.feeds)
      part_.feeds.push_back(v == kNoValue || task_of_value(v) != self_ ? kNoValue : own_value(v));
    for (const ValueId v : whole_.fetches) {
      if (task_of_value(v) == self_) part_.fetches.push_back(own_value(v));
    }
    part_.num_constant_feeds = whole_.num_constant_feeds;
    if (whole_.guard != kNoInstruction && mine(whole_.guard)) part_.guard = instruction_[whole_.guard];
    part_.host = own_host();
    part_.has_loops = std::any_of(part_.instructions.begin(), part_.instructions.end(),
                                  [](const Instruction& s) { return s.kind == InstructionKind::kLoop; });
  }

  struct Crossing {
    uint32_t copy = 0;
    InstructionId received = kNoInstruction;
  };

  const Graph& graph_;
  const Program& whole_;
  const TaskMap& tasks_;
  const TaskId self_;
  const EarlySends early_;
  std::vector<DeviceId> own_device_;  // by device of the set; kNoDevice: another task's
  std::vector<TaskId> task_of_;       // by instruction of the whole program

  Program part_;
  std::vector<ValueId> value_;              // by value of the whole program
  std::vector<InstructionId> instruction_;  // by instruction of the whole program
  std::vector<InstructionId> open_;         // loops of this task that have begun
  std::vector<std::pair<size_t, ValueId>> back_edges_;
  std::unordered_map<uint64_t, Crossing> controls_;       // by source and task of the reader
  std::map<InstructionId, std::set<TaskId>> loop_tasks_;  // by loop of the whole program
  std::map<InstructionId, InstructionId> decided_by_;     // loops on several tasks, by a NextIteration
  uint32_t next_copy_;                                    // numbers of control edges stand behind those of instructions
};

}  // namespace

Result<Program> part_of(const GraphFile& file, const Program& whole, const TaskMap& tasks, TaskId task) {
  return PartMaker(file, whole, tasks, task).make();
}

}  // namespace emplace
