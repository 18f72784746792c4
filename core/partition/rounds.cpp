#include "core/partition/rounds.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/partition/bucket_order.h"
#include "core/partition/early_sends.h"

namespace emplace {
namespace {

enum class Direction : uint8_t { kToSum, kFromMean };

/// A bucket, on one of its two ways.
using BucketWay = std::pair<int64_t, Direction>;

/// A round in the making, with positions in the whole program.
struct RoundInMaking {
  Round round;
  InstructionId last_made = 0, first_read = kNoInstruction;
};

/// Which round a copy between tasks would be of.
std::optional<BucketWay> round_of(const Graph& graph, const Program& whole, InstructionId copy) {
  const Instruction& s = whole.instructions[copy];
  const PlacedValue& from = whole.values[whole.inputs(s)[0]];
  if (s.may_be_dead || !EarlySends::is_early(whole, copy)) return {};
  if (from.dtype == DType::kString || from.dtype == DType::kVariant || !graph.output_shape(from.tensor).fully_known())
    return {};
  const std::optional<int64_t> made = bucket_of(graph, from.tensor.node), read = bucket_of(graph, s.node);
  if (made && !read) return BucketWay{*made, Direction::kFromMean};
  if (read && !made) return BucketWay{*read, Direction::kToSum};
  return {};
}

void add_item(const Graph& graph, const Program& whole, const TaskMap& tasks, InstructionId copy, RoundInMaking& to) {
  const Instruction& s = whole.instructions[copy];
  const ValueId value = whole.inputs(s)[0];
  const PlacedValue& from = whole.values[value];
  to.last_made = std::max(to.last_made, from.producer);
  to.first_read = std::min(to.first_read, copy);
  to.round.items.push_back(
      {copy, tasks.of[from.device], tasks.of[s.device], value, base_type(from.dtype), graph.output_shape(from.tensor)});
}

/// Does each value go to all tasks but its own?
bool goes_to_all(const Round& round, size_t tasks) {
  std::map<ValueId, std::set<TaskId>> readers;
  for (const Round::Item& item : round.items) readers[item.value].insert(item.to);
  return std::all_of(readers.begin(), readers.end(), [&](const auto& r) { return r.second.size() + 1 == tasks; });
}

/// Counts of a collective are int, and there is room between tensors.
bool is_small_enough(const Round& round) {
  size_t sum = 0;
  for (const Round::Item& item : round.items) sum += item.bytes();
  return sum <= size_t{1} << 30;
}

}  // namespace

std::shared_ptr<const Rounds> find_rounds(const Graph& graph, const Program& whole, const TaskMap& tasks) {
  std::map<BucketWay, RoundInMaking> found;
  for (InstructionId id = 0; id < whole.instructions.size(); ++id) {
    if (!crosses_tasks(whole, tasks, id)) continue;
    if (const std::optional<BucketWay> key = round_of(graph, whole, id)) add_item(graph, whole, tasks, id, found[*key]);
  }
  std::vector<RoundInMaking> in_order;
  in_order.reserve(found.size());
  for (auto& [key, candidate] : found) in_order.push_back(std::move(candidate));
  std::stable_sort(in_order.begin(), in_order.end(),
                   [](const RoundInMaking& a, const RoundInMaking& b) { return a.last_made < b.last_made; });
  auto rounds = std::make_shared<Rounds>();
  for (RoundInMaking& candidate : in_order) {
    // Of those before, the last is made no later.
    if (candidate.last_made >= candidate.first_read || !is_small_enough(candidate.round)) continue;
    candidate.round.to_all = goes_to_all(candidate.round, tasks.size());
    for (const Round::Item& item : candidate.round.items)
      rounds->round_of[item.copy] = static_cast<uint32_t>(rounds->all.size());
    rounds->all.push_back(std::move(candidate.round));
  }
  return rounds->all.empty() ? nullptr : rounds;
}

}  // namespace emplace
