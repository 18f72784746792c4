#include "core/run/step_joiner.h"

#include <algorithm>

namespace emplace {
namespace {

bool takes_two(ElementStep step) {
  return step == ElementStep::kAdd || step == ElementStep::kSubtract || step == ElementStep::kMultiply;
}

}  // namespace

std::optional<ElementStep> StepJoiner::step_of(InstructionId id) const {
  const Instruction& s = program_.instructions[id];
  const auto* stepped = dynamic_cast<const SteppedKernel*>(bound_[id].kernel.get());
  if (!stepped || !stepped->chain_code()) return {};
  if (stepped->step() != ElementStep::kNone) return stepped->step();
  const auto is_float = [&](ValueId v) { return program_.values[v].dtype == DType::kFloat; };
  const bool of_one_float = s.num_inputs == 1 && s.num_outputs == 1 && is_float(program_.inputs(s)[0]) &&
                            is_float(program_.outputs(s)[0]) && stepped->tile().period == 0;
  if (!of_one_float) return {};
  return ElementStep::kNone;
}

StepJoiner::Joined StepJoiner::join(InstructionId id, ElementStep step, int length) {
  Joined joined;
  if (last_value_ == kNoValue || length == StepChain::kMost) return joined;
  const bool takes_kept = kept_until_ == id;
  joined.number = only_place(inputs(id), last_value_);
  if (joined.number == kNone) return {};
  if (takes_kept) joined.kept = only_place(inputs(id), kept_value_);
  const InstructionId last_reader = registers_.last_reader(last_value_);
  if (last_reader == id && (!takes_kept || (takes_two(step) && joined.kept != kNone))) return joined;
  joined.keeps = comes_back(id, length);
  if (!joined.keeps) return {};
  kept_value_ = last_value_;
  kept_until_ = last_reader;
  return joined;
}

void StepJoiner::made(std::optional<ElementStep> step, ValueId out) {
  last_step_ = step.value_or(ElementStep::kNone);
  last_value_ = step && registers_.holds(out) ? registers_.buffer(out) : kNoValue;
}

// Which input a value is, if it is one and no other input is, too.
size_t StepJoiner::only_place(std::span<const ValueId> values, ValueId value) const {
  size_t found = kNone;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!registers_.holds(values[i]) || registers_.buffer(values[i]) != value) continue;
    if (found != kNone) return kNone;
    found = i;
  }
  return found;
}

// Is the number that the last loop made read by `id`, then by nobody until what becomes of it, step by step, meets it
// again (x * sigmoid(x))? One may be kept at a time.
bool StepJoiner::comes_back(InstructionId id, int length) const {
  const InstructionId end = registers_.last_reader(last_value_);
  if (kept_until_ != kNoInstruction && kept_until_ >= id) return false;
  auto at = std::lower_bound(group_.instructions.begin(), group_.instructions.end(), id);
  ValueId now = last_value_;
  for (++length; at != group_.instructions.end() && length <= StepChain::kMost; ++at, ++length) {
    const auto values = inputs(*at);
    const ValueId out = program_.outputs(program_.instructions[*at])[0];
    const std::optional<ElementStep> step = step_of(*at);
    if (!step || only_place(values, now) == kNone) return false;
    if (*at != id && registers_.last_reader(now) != *at) return false;
    if (*at == end) return takes_two(*step) && now != last_value_ && only_place(values, last_value_) != kNone;
    if (!registers_.holds(out) || (*at != id && only_place(values, last_value_) != kNone)) return false;
    now = registers_.buffer(out);
  }
  return false;
}

}  // namespace emplace
