#include "core/plan/storage.h"

#include <algorithm>

#include "core/plan/output_rule.h"

namespace emplace {
namespace {

// What is larger than this is not copied out of the block to be kept: it lies where it can stay.
constexpr int64_t kMaxCopiedBytes = 16 << 10;

bool plain(DType t) { return t != DType::kString && t != DType::kVariant && t != DType::kResource && !is_ref(t); }

class StorageChooser {
 public:
  StorageChooser(const Graph& graph, const DeviceSet& devices, const Program& program, Plan& plan,
                 const std::vector<PlainLoop>& loops)
      : graph_(graph), devices_(devices), program_(program), plan_(plan), in_plain_loop_(program.instructions.size()) {
    for (const PlainLoop& loop : loops) find_kept(loop);
    for (const Device& d : devices.devices) has_gpus_ |= d.kind == DeviceKind::kCuda;
  }

  void choose(InstructionId id) {
    InstructionMode& mode = plan_.modes[id];
    const Instruction& s = program_.instructions[id];
    if (mode != InstructionMode::kPlanned) return;
    if (s.kind == InstructionKind::kNode && is_certain(id) && graph_.traits(s.node).does_nothing) {
      mode = InstructionMode::kSkip;
      return;
    }
    switch (output_rule(graph_, program_, s)) {
      case OutputRule::kOwn:
        own(id, s, mode);
        break;
      case OutputRule::kSharesInput:
        share(id, s, mode);
        break;
      case OutputRule::kProvided:
        if (in_plain_loop_[id])
          arrive(s);
        else if (s.kind == InstructionKind::kNode && graph_.traits(s.node).reads_variable)
          read(s);
        break;
    }
  }

 private:
  ValuePlan& at(ValueId v) { return plan_.values[v]; }

  // Does it run whenever the step, or its part of the loop, does?
  bool is_certain(InstructionId id) const { return !program_.instructions[id].may_be_dead || in_plain_loop_[id]; }

  // Backwards: what is kept under another name is kept.
  void find_kept(const PlainLoop& loop) {
    if (is_kept_.empty()) is_kept_.resize(program_.values.size());
    const InstructionId end = program_.instructions[loop.loop].body_end;
    for (InstructionId id = loop.loop + 1; id < end; ++id) in_plain_loop_[id] = 1;
    for (InstructionId id = end; id-- > loop.loop + 1;) {
      const Instruction& s = program_.instructions[id];
      const auto outputs = program_.outputs(s);
      const bool keeps = keeps_inputs(graph_, program_, s) ||
                         (output_rule(graph_, program_, s) != OutputRule::kOwn &&
                          std::any_of(outputs.begin(), outputs.end(), [&](ValueId v) { return is_kept_[v]; }));
      for (const ValueId v : program_.inputs(s)) is_kept_[v] |= keeps;
    }
  }
  bool may_be_in_block(InstructionId id, ValueId v) const {
    if (!in_plain_loop_[id] || !is_kept_[v]) return true;
    return plan_.values[v].shape.num_elements() * static_cast<int64_t>(dtype_size(program_.values[v].dtype)) <=
           kMaxCopiedBytes;
  }

  // Of a plain loop: what is found in a slot, and has the shape that is known.
  void arrive(const Instruction& s) {
    for (const ValueId v : program_.outputs(s))
      at(v).arrives = !has_gpus_ && plain(program_.values[v].dtype) && at(v).shape.fully_known();
  }

  void own(InstructionId id, const Instruction& s, InstructionMode& mode) {
    bool inputs_in_place = true;
    for (ValueId v : program_.inputs(s)) inputs_in_place &= at(v).storage != Storage::kSlot || at(v).arrives;
    for (ValueId v : program_.outputs(s)) {
      if (!plain(program_.values[v].dtype) || guarded(v)) return;
      if (!may_be_in_block(id, v)) return arrive(s);
    }
    for (ValueId v : program_.outputs(s)) {
      at(v).storage = Storage::kBlock;
      at(v).buffer = v;
    }
    if (s.kind == InstructionKind::kCopy) {
      for (ValueId v : program_.inputs(s)) inputs_in_place &= !at(v).arrives;
    }
    if (inputs_in_place && is_certain(id)) mode = InstructionMode::kDirect;
  }

  // GPUs order and record launches by the addresses that are bound.
  void read(const Instruction& s) {
    const ValueId out = program_.outputs(s)[0];
    at(out).arrives = !has_gpus_ && !s.may_be_dead && plain(program_.values[out].dtype);
  }

  void share(InstructionId id, const Instruction& s, InstructionMode& mode) {
    const auto inputs = program_.inputs(s), outputs = program_.outputs(s);
    if (!is_certain(id)) return;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (program_.values[inputs[i]].home != program_.values[outputs[i]].home) return;
    }
    bool all_in_place = true;
    for (size_t i = 0; i < outputs.size(); ++i) {
      at(outputs[i]).arrives = outputs.size() == 1 && at(inputs[i]).arrives;
      all_in_place &= at(inputs[i]).storage != Storage::kSlot;
    }
    if (!all_in_place) return;
    for (size_t i = 0; i < outputs.size(); ++i) share(inputs[i], outputs[i]);
    mode = InstructionMode::kSkip;
  }

  void share(ValueId in, ValueId out) {
    if (at(in).storage == Storage::kFixed) {
      plan_.tensors.push_back(at(in).known->reshaped(at(out).shape));
      at(out).known = &plan_.tensors.back();
      at(out).varies = at(in).varies;
      at(out).storage = Storage::kFixed;
    } else {
      at(out).storage = Storage::kBlock;
      at(out).buffer = at(in).buffer;
    }
  }

  /// Each tensor has pages of its own then, which a block has not.
  bool guarded(ValueId v) const {
    return devices_.guards_tensors && devices_.at(program_.values[v].home).kind == DeviceKind::kCuda;
  }

  const Graph& graph_;
  const DeviceSet& devices_;
  const Program& program_;
  Plan& plan_;
  bool has_gpus_ = false;
  std::vector<uint8_t> in_plain_loop_;  // by instruction
  std::vector<uint8_t> is_kept_;        // by value of a plain loop: beyond the iteration that makes it
};

}  // namespace

void choose_storage(const GraphFile& file, const DeviceSet& devices, const Program& program, Plan& plan,
                    const std::vector<PlainLoop>& loops) {
  StorageChooser chooser(file.graph, devices, program, plan, loops);
  for (InstructionId s = 0; s < program.instructions.size(); ++s) chooser.choose(s);
}

}  // namespace emplace
