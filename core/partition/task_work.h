/// TaskWork: which task runs which instruction of a program that several run together. An instruction is on the task of
/// its device; a loop is on every task that has a node of it.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "core/partition/program.h"

namespace emplace {

class TaskWork {
 public:
  /// Both outlive it.
  TaskWork(const Program& whole, const TaskMap& tasks);

  /// Of its device.
  TaskId task_of(InstructionId id) const { return task_of_[id]; }
  TaskId task_of_value(ValueId v) const { return tasks_.of[whole_.values[v].device]; }
  bool is_on(InstructionId id, TaskId task) const;
  /// REQUIRES: `loop` is one.
  const std::set<TaskId>& tasks_of_loop(InstructionId loop) const { return loop_tasks_.at(loop); }
  /// The loop on several tasks whose NextIteration `id` tells all of them whether it goes on; kNoInstruction: none.
  InstructionId loop_decided_by(InstructionId id) const;

 private:
  void find_tasks_of_loop(InstructionId id);

  const Program& whole_;
  const TaskMap& tasks_;
  std::vector<TaskId> task_of_;                           // by instruction
  std::map<InstructionId, std::set<TaskId>> loop_tasks_;  // by loop
  std::map<InstructionId, InstructionId> decided_by_;     // loops on several tasks, by a NextIteration
};

}  // namespace emplace
