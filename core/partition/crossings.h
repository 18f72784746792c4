/// Crossings: what goes from task to task in a program that several run together, by its number, and which
/// instructions each of them has to do with. The parts of all tasks are made from one.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "core/partition/early_sends.h"
#include "core/partition/task_work.h"

namespace emplace {

/// Never changed once it is made, so that parts may be made on several threads.
class Crossings {
 public:
  /// All outlive it.
  Crossings(const Graph& graph, const Program& whole, const TaskMap& tasks);

  /// A control edge between tasks: sent before the first reader on a task.
  struct Control {
    InstructionId reader = kNoInstruction, source = kNoInstruction;
    TaskId sender = kNoTask, receiver = kNoTask;
    uint32_t copy = 0;
  };

  const TaskWork& work() const { return work_; }
  /// What the task runs, sends or receives. Ascending.
  const std::vector<InstructionId>& of_task(TaskId task) const { return of_task_[task]; }
  std::span<const Control> controls_before(InstructionId reader) const;
  /// What the task of `producer` sends of it at once.
  const EarlySends& early() const { return early_; }
  /// Of the messages of a NextIteration to the others of its loop, in their order. REQUIRES: work().loop_decided_by().
  uint32_t first_decision(InstructionId next) const { return decisions_.at(next); }
  /// Of a member of a collective among tasks: its place. Those of one name stand together (check_meetings()), so that
  /// all tasks come to them in the same order.
  std::optional<int> rank(InstructionId id) const;

 private:
  void find_ranks(const Graph& graph);
  void add_copy(InstructionId id);
  void add_own(InstructionId id, std::unordered_set<uint64_t>& sent);
  void touch(TaskId task, InstructionId id);

  const Program& whole_;
  const TaskWork work_;
  const EarlySends early_;
  std::vector<std::vector<InstructionId>> of_task_;
  std::vector<Control> controls_;  // ascending by reader
  std::map<InstructionId, uint32_t> decisions_;
  std::map<InstructionId, int> ranks_;
  uint32_t next_copy_;  // numbers of control edges stand behind those of instructions
};

}  // namespace emplace
