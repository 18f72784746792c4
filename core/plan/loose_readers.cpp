#include "core/plan/loose_readers.h"

#include "core/op/loose_inputs.h"

namespace emplace {

bool LooseReaders::all_of(ValueId v) {
  if (first_.empty()) find_readers();
  if (is_fetched_[v]) return false;
  for (uint32_t at = first_[v]; at < first_[v + 1]; ++at) {
    if (!reads(readers_[at])) return false;
  }
  return true;
}

bool LooseReaders::reads(const Reader& reader) {
  const Instruction& s = program_.instructions[reader.instruction];
  const bool copy = s.kind == InstructionKind::kCopy;
  if (!copy && s.kind != InstructionKind::kNode) return false;
  if (s.in_loop || s.may_be_dead || s.control != Control::kNone) return false;
  const auto outputs = program_.outputs(s);
  const auto on_host = [&](ValueId v) { return devices_.at(program_.values[v].home).type == "CPU"; };
  if (copy) return !on_host(outputs[0]) || all_of(outputs[0]);
  const NodeType& type = graph_.type(s.node);
  const ValueId v = program_.inputs(s)[reader.input];
  if (!type.def || !on_host(v)) return false;
  if (type.traits->identity && type.def->forwards())
    return on_host(outputs[reader.input]) && all_of(outputs[reader.input]);
  return reads_loose(type.op, reader.input, program_.values[v].dtype);
}

void LooseReaders::find_readers() {
  first_.assign(program_.values.size() + 1, 0);
  const auto each = [&](const auto& f) {
    for (InstructionId id = 0; id < program_.instructions.size(); ++id) {
      const auto inputs = program_.inputs(program_.instructions[id]);
      for (uint32_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i] != kNoValue) f(inputs[i], Reader{id, i});
      }
    }
  };
  each([&](ValueId v, const Reader&) { ++first_[v + 1]; });
  for (size_t v = 1; v < first_.size(); ++v) first_[v] += first_[v - 1];
  readers_.resize(first_.back());
  std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
  each([&](ValueId v, const Reader& reader) { readers_[next[v]++] = reader; });
  is_fetched_.assign(program_.values.size(), 0);
  for (const ValueId v : program_.fetches) is_fetched_[v] = 1;
}

}  // namespace emplace
