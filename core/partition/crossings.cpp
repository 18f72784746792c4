#include "core/partition/crossings.h"

#include <algorithm>
#include <string_view>

#include "core/partition/meetings.h"

namespace emplace {

Crossings::Crossings(const Graph& graph, const Program& whole, const TaskMap& tasks)
    : whole_(whole),
      work_(whole, tasks),
      early_(whole, tasks),
      of_task_(tasks.size()),
      next_copy_(static_cast<uint32_t>(whole.instructions.size())) {
  find_ranks(graph);
  std::unordered_set<uint64_t> sent;  // by source and task of the reader
  for (InstructionId id = 0; id < whole.instructions.size(); ++id) {
    const bool crosses = crosses_tasks(whole, tasks, id);
    crosses ? add_copy(id) : add_own(id, sent);
    const InstructionId loop = work_.loop_decided_by(id);
    if (loop == kNoInstruction) continue;
    decisions_[id] = next_copy_;
    next_copy_ += static_cast<uint32_t>(work_.tasks_of_loop(loop).size()) - 1;
    for (const TaskId task : work_.tasks_of_loop(loop)) touch(task, id);
  }
}

void Crossings::touch(TaskId task, InstructionId id) {
  std::vector<InstructionId>& all = of_task_[task];
  if (all.empty() || all.back() != id) all.push_back(id);
}

// Constants are not sent, and early copies are with their producer.
void Crossings::add_copy(InstructionId id) {
  const ValueId from = whole_.inputs(whole_.instructions[id])[0];
  const InstructionId producer = whole_.values[from].producer;
  const bool is_constant =
      producer != kNoInstruction && whole_.instructions[producer].kind == InstructionKind::kConstant;
  if (!is_constant && !EarlySends::is_early(whole_, id)) touch(work_.task_of_value(from), id);
  touch(work_.task_of(id), id);
}

void Crossings::add_own(InstructionId id, std::unordered_set<uint64_t>& sent) {
  const Instruction& s = whole_.instructions[id];
  for (const InstructionId control : whole_.controls_of(s)) {
    const TaskId sender = work_.task_of(control), receiver = work_.task_of(id);
    if (sender == receiver || whole_.instructions[control].kind == InstructionKind::kConstant) continue;
    if (!sent.insert(uint64_t{control} << 16 | receiver).second) continue;
    controls_.push_back({id, control, sender, receiver, next_copy_++});
    touch(sender, id);
    touch(receiver, id);
  }
  if (s.kind != InstructionKind::kLoop) return touch(work_.task_of(id), id);
  for (const TaskId task : work_.tasks_of_loop(id)) touch(task, id);
}

std::span<const Crossings::Control> Crossings::controls_before(InstructionId reader) const {
  if (whole_.instructions[reader].num_controls == 0) return {};
  const auto first = std::lower_bound(controls_.begin(), controls_.end(), reader,
                                      [](const Control& c, InstructionId id) { return c.reader < id; });
  auto last = first;
  while (last != controls_.end() && last->reader == reader) ++last;
  return {first, last};
}

void Crossings::find_ranks(const Graph& graph) {
  std::map<std::string_view, std::vector<InstructionId>> meetings;
  for (InstructionId id = 0; id < whole_.instructions.size(); ++id) {
    const Instruction& s = whole_.instructions[id];
    if (s.kind == InstructionKind::kNode && is_collective(graph, s.node))
      meetings[meeting_of(graph, s.node)].push_back(id);
  }
  for (const auto& [name, members] : meetings) {
    const TaskId first = work_.task_of(members.front());
    const bool on_one =
        std::all_of(members.begin(), members.end(), [&](InstructionId id) { return work_.task_of(id) == first; });
    for (size_t i = 0; i < members.size() && !on_one; ++i) ranks_[members[i]] = static_cast<int>(i);
  }
}

std::optional<int> Crossings::rank(InstructionId id) const {
  if (ranks_.empty()) return std::nullopt;
  const auto found = ranks_.find(id);
  return found == ranks_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace emplace
