#include "core/partition/task_work.h"

namespace emplace {

TaskWork::TaskWork(const Program& whole, const TaskMap& tasks) : whole_(whole), tasks_(tasks) {
  for (const Instruction& s : whole.instructions) task_of_.push_back(tasks.of[s.device]);
  for (InstructionId id = 0; id < whole.instructions.size(); ++id) {
    if (whole.instructions[id].kind == InstructionKind::kLoop) find_tasks_of_loop(id);
  }
}

bool TaskWork::is_on(InstructionId id, TaskId task) const {
  const auto loop = loop_tasks_.find(id);
  return loop == loop_tasks_.end() ? task_of_[id] == task : loop->second.contains(task);
}

InstructionId TaskWork::loop_decided_by(InstructionId id) const {
  const auto found = decided_by_.find(id);
  return found == decided_by_.end() ? kNoInstruction : found->second;
}

// Those that have a node of it, in a loop inside it, too; and who tells them whether it goes on.
void TaskWork::find_tasks_of_loop(InstructionId id) {
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

}  // namespace emplace
