// Forward pass over the instructions. Integer vectors that shapes depend on (axes, paddings, Shape -> Pack -> Reshape)
// are worked out here, by the ops' own kernels, and so is what constants alone decide; nothing else is.
#include "core/plan/settle.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/flush_denormals.h"
#include "core/base/host_memory.h"
#include "core/base/stop.h"
#include "core/graph/node_kernel.h"
#include "core/op/run_kernel.h"
#include "core/plan/blamed_node.h"
#include "core/plan/constant_parts.h"
#include "core/plan/loose_readers.h"
#include "core/plan/rule_context.h"
#include "core/plan/storage.h"
#include "core/tensor/mapped_buffer.h"

namespace emplace {
namespace {

constexpr int64_t kMaxFoldedElements = 4096;  // of a value that a shape may depend on
constexpr int64_t kMaxOwnBytes = 16 << 10;    // of what is worked out once, beyond what it was made of
// Of a plan's results that are larger still, together: at most this, and a part of the limit of host memory.
constexpr int64_t kMaxGrownBytes = 256 << 20, kGrownPartOfLimit = 4;
// Of a planned tensor. No memory holds more, and sums of sizes stay far from overflow.
constexpr int64_t kMaxPlannedElements = int64_t{1} << 40;

// Input i of a value_inputs entry.
size_t value_input(int entry, size_t num_inputs) {
  return entry < 0 ? num_inputs - static_cast<size_t>(-entry) : static_cast<size_t>(entry);
}

class HostAllocator final : public Allocator {
 public:
  Result<Tensor> allocate(DType dtype, const Shape& shape) override { return Tensor::allocate(dtype, shape); }
};

class Settler {
 public:
  Settler(const GraphFile& file, const DeviceSet& devices, const Program& program, Plan& plan,
          const std::vector<PlainLoop>& loops)
      : graph_(file.graph), devices_(devices), program_(program), plan_(plan), loops_(loops) {}

  Status run(const std::vector<Tensor>& feeds, Constants constants) {
    each_step_ = constants == Constants::kInEachStep;
    plan_.values.resize(program_.values.size());
    plan_.modes.assign(program_.instructions.size(), InstructionMode::kDynamic);
    for (size_t i = 0; i < feeds.size(); ++i) {
      if (program_.feeds[i] == kNoValue) continue;
      fix(program_.feeds[i], feeds[i]);
      at(program_.feeds[i]).varies = i >= program_.num_constant_feeds;
    }
    find_wanted();
    if (constants == Constants::kOnce) parts_ = constant_parts(graph_, devices_, program_);
    OccasionalLook look;
    for (InstructionId s = 0; s < program_.instructions.size(); ++s) {
      if (look.stop_requested()) return stop_status();
      RETURN_IF_ERROR(settle(s));
    }
    release_unread();
    return ok_status();
  }

 private:
  ValuePlan& at(ValueId v) { return plan_.values[v]; }

  void fix(ValueId v, Tensor value) {
    plan_.tensors.push_back(std::move(value));
    fix_to(v, &plan_.tensors.back());
  }
  void fix_to(ValueId v, const Tensor* value) {
    at(v).storage = Storage::kFixed;
    at(v).known = value;
    at(v).shape = value->shape();
  }

  // The elements, where they are the same in every step.
  const Tensor* constant(const ValuePlan& value) const { return value.varies ? nullptr : value.known; }

  bool on_host(ValueId v) const { return devices_.at(program_.values[v].home).type == "CPU"; }

  bool foldable(const Instruction& s) const {
    if (s.kind != InstructionKind::kNode || s.may_be_dead || s.in_loop || s.control != Control::kNone) return false;
    const NodeType& type = graph_.type(s.node);
    if (!type.signature || type.signature->is_stateful || !cpu_kernel(type)) return false;
    for (ValueId v : program_.outputs(s)) {
      DType t = program_.values[v].dtype;
      if ((t != DType::kInt32 && t != DType::kInt64) || !on_host(v)) return false;
    }
    return s.num_outputs > 0;
  }

  // Backwards from the inputs whose values rules ask for.
  void find_wanted() {
    wanted_.assign(program_.values.size(), 0);
    for (InstructionId i = static_cast<InstructionId>(program_.instructions.size()); i-- > 0;) {
      const Instruction& s = program_.instructions[i];
      auto inputs = program_.inputs(s);
      if (s.kind == InstructionKind::kCopy) wanted_[inputs[0]] |= wanted_[program_.outputs(s)[0]];
      if (s.kind != InstructionKind::kNode || s.in_loop) continue;
      const OpDef* def = graph_.type(s.node).def;
      if (!def) continue;
      for (int entry : def->value_input_list()) {
        size_t in = value_input(entry, inputs.size());
        if (in < inputs.size()) wanted_[inputs[in]] = 1;
      }
      auto outputs = program_.outputs(s);
      bool wanted = std::any_of(outputs.begin(), outputs.end(), [&](ValueId v) { return wanted_[v]; });
      if (!wanted || !foldable(s) || graph_.traits(s.node).reads_shapes_only()) continue;
      for (ValueId v : inputs) wanted_[v] = 1;
    }
  }

  Status settle(InstructionId id) {
    const Instruction& s = program_.instructions[id];
    if (s.kind == InstructionKind::kLoop) {
      const PlainLoop* plain = find_loop(loops_, id);
      return plain ? settle_loop(*plain) : ok_status();
    }
    if (s.kind == InstructionKind::kConstant) {
      plan_.modes[id] = InstructionMode::kSkip;
      return settle_constant(program_.outputs(s)[0], graph_.attrs(s.node).tensor("value"));
    }
    if (s.in_loop || is_transfer(s)) return ok_status();
    if (s.kind == InstructionKind::kCopy) {
      settle_copy(id);
      return ok_status();
    }
    return settle_node(id);
  }

  // What a variable's shape is in the first iteration it is in all, unless the loop makes another of it.
  Status settle_loop(const PlainLoop& loop) {
    const Instruction& l = program_.instructions[loop.loop];
    std::vector<uint8_t> changes(loop.variables.size());
    for (bool is_settled = false; !is_settled;) {
      is_settled = true;
      for (size_t i = 0; i < changes.size(); ++i)
        at(loop.variables[i].merged).shape = changes[i] ? Shape::unknown() : at(entering(loop.variables[i])).shape;
      for (InstructionId id = loop.loop + 1; id < l.body_end; ++id) RETURN_IF_ERROR(settle_in_loop(id));
      for (size_t i = 0; i < changes.size(); ++i) {
        const LoopVariable& v = loop.variables[i];
        if (changes[i] || at(v.next).shape == at(v.merged).shape) continue;
        changes[i] = 1;
        is_settled = false;
      }
    }
    return ok_status();
  }
  ValueId entering(const LoopVariable& v) const {
    return program_.inputs(program_.instructions[program_.values[v.entered].producer])[0];
  }

  Status settle_in_loop(InstructionId id) {
    const Instruction& s = program_.instructions[id];
    const ValueId first = s.num_outputs > 0 ? program_.outputs(s)[0] : kNoValue;
    plan_.modes[id] = InstructionMode::kDynamic;
    if (s.control == Control::kEnter) {
      const ValueId in = program_.inputs(s)[0];
      at(first).shape = at(in).shape;
      if (auto handle = handles_.find(in); handle != handles_.end() && graph_.attrs(s.node).flag("is_constant"))
        handles_[first] = handle->second;
    }
    if (s.control == Control::kEnter || s.control == Control::kMerge) {
      if (can_be_planned(at(first).shape)) plan_.modes[id] = InstructionMode::kPlanned;
      return ok_status();
    }
    if (graph_.traits(s.node).constant && is_aligned(graph_.attrs(s.node).tensor("value"))) {
      fix_to(first, &graph_.attrs(s.node).tensor("value"));
      plan_.modes[id] = InstructionMode::kSkip;
      return ok_status();
    }
    return settle_node(id);
  }

  // A large one that its file has at an odd address is copied if somebody wants it elsewhere.
  Status settle_constant(ValueId v, const Tensor& value) {
    const bool stays = is_aligned(value) || (!each_step_ && loose_.all_of(v));
    if (stays) return fix_to(v, &value), ok_status();
    Result<Tensor> copy = aligned(value);
    if (!copy.ok()) return attach_node(copy.take_status(), graph_.name(program_.values[v].tensor.node));
    fix(v, copy.take());
    return ok_status();
  }

  void settle_copy(InstructionId id) {
    const Instruction& s = program_.instructions[id];
    const ValuePlan& from = at(program_.inputs(s)[0]);
    ValueId to = program_.outputs(s)[0];
    at(to).shape = from.shape;
    at(to).known = from.known;
    at(to).varies = from.varies;
    if (from.known && on_host(to)) at(to).storage = Storage::kFixed;
    if (from.shape.fully_known()) plan_.modes[id] = InstructionMode::kPlanned;
    if (at(to).storage == Storage::kFixed && !s.may_be_dead) plan_.modes[id] = InstructionMode::kSkip;
  }

  Status settle_node(InstructionId id) {
    const Instruction& s = program_.instructions[id];
    const NodeType& type = graph_.type(s.node);
    if (!type.def) return settle_unknown(id), ok_status();
    auto inputs = program_.inputs(s);
    auto outputs = program_.outputs(s);
    rule_.begin(type);
    bool settled = true;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ValuePlan& in = at(inputs[i]);
      auto handle = handles_.find(inputs[i]);
      rule_.inputs[i] = {&in.shape, constant(in), handle == handles_.end() ? nullptr : &handle->second};
      settled &= in.shape.fully_known();
    }
    for (int entry : type.def->value_input_list()) {
      size_t in = value_input(entry, inputs.size());
      if (in < inputs.size() && !constant(at(inputs[in]))) settled = false;
    }
    if (Status status = type.def->shape_rule()(rule_); !status.ok()) {
      // In a branch that is not taken, or a loop of no step, nobody asks; if it does run, it fails then.
      if (!s.may_be_dead && !s.in_loop) return attach_node(std::move(status), graph_.name(s.node));
      for (ValueId v : outputs) at(v).shape = Shape::unknown();
      return ok_status();
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      at(outputs[i]).shape = rule_.outputs[i];
      settled &= can_be_planned(rule_.outputs[i]);
    }
    for (auto& [i, info] : rule_.handles) handles_[outputs[static_cast<size_t>(i)]] = std::move(info);
    if (!settled) return ok_status();
    plan_.modes[id] = InstructionMode::kPlanned;
    forward_known(id, type);
    if (!s.may_be_dead && foldable(s)) fold(id, type);
    if (!parts_.empty() && !s.in_loop && parts_[id] != ConstantPart::kNone && plan_.modes[id] != InstructionMode::kSkip)
      work_out_once(id, type);
    return ok_status();
  }

  static bool can_be_planned(const Shape& shape) {
    return shape.fully_known() && shape.checked_num_elements().value_or(kMaxPlannedElements + 1) <= kMaxPlannedElements;
  }

  // An op that emplace cannot run: the shapes that validate found.
  void settle_unknown(InstructionId id) {
    bool settled = true;
    for (ValueId v : program_.outputs(program_.instructions[id])) {
      at(v).shape = graph_.output_shape(program_.values[v].tensor);
      settled &= can_be_planned(at(v).shape);
    }
    if (settled) plan_.modes[id] = InstructionMode::kPlanned;
  }

  // Identity or Reshape of what is known.
  void forward_known(InstructionId id, const NodeType& type) {
    const Instruction& s = program_.instructions[id];
    if (!type.def->forwards() || s.num_inputs == 0 || s.may_be_dead) return;
    const auto inputs = program_.inputs(s), outputs = program_.outputs(s);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (at(inputs[i]).storage != Storage::kFixed || on_host(inputs[i]) != on_host(outputs[i])) return;
    }
    for (size_t i = 0; i < outputs.size(); ++i) forward_known(inputs[i], outputs[i]);
    plan_.modes[id] = InstructionMode::kSkip;
  }
  void forward_known(ValueId from, ValueId to) {
    const ValuePlan& in = at(from);
    if (in.shape == at(to).shape)
      fix_to(to, in.known);
    else
      fix(to, in.known->reshaped(at(to).shape));
    at(to).varies = in.varies;
  }

  // Runs the kernel now if somebody's shape depends on the result.
  void fold(InstructionId id, const NodeType& type) {
    const Instruction& s = program_.instructions[id];
    const bool shapes_only = type.traits->reads_shapes_only();
    bool wanted = false;
    for (ValueId v : program_.outputs(s)) {
      wanted |= wanted_[v];
      if (at(v).known || at(v).shape.num_elements() > kMaxFoldedElements) return;
    }
    if (!wanted) return;
    for (ValueId v : program_.inputs(s)) {
      if (!shapes_only && (!constant(at(v)) || at(v).shape.num_elements() > kMaxFoldedElements)) return;
    }
    work_out(id, type);
  }

  // The same for what constants alone decide (core/plan/constant_parts.h), unless that would take more memory for good
  // than it takes of the constants, and more than there is to spare for that.
  void work_out_once(InstructionId id, const NodeType& type) {
    const Instruction& s = program_.instructions[id];
    int64_t taken = kMaxOwnBytes;
    for (ValueId v : program_.inputs(s)) {
      if (!constant(at(v))) return;
      taken += bytes_of(v);
    }
    for (ValueId v : program_.outputs(s)) {
      if (at(v).known) return;
      taken -= bytes_of(v);
    }
    if (taken < 0 && (parts_[id] != ConstantPart::kMayGrow || spare_bytes_ + taken < 0)) return;
    if (!work_out(id, type)) return;
    spare_bytes_ += std::min<int64_t>(taken, 0);
    for (ValueId v : program_.outputs(s)) plan_.worked_out.push_back(v);
  }
  int64_t bytes_of(ValueId v) {
    return at(v).shape.num_elements() * static_cast<int64_t>(storage_size(program_.values[v].dtype));
  }

  // False: a kernel that refuses will say so in the run.
  bool work_out(InstructionId id, const NodeType& type) {
    const Instruction& s = program_.instructions[id];
    const auto outputs = program_.outputs(s);
    std::vector<Tensor> in, out;
    for (ValueId v : program_.inputs(s)) {
      in.push_back(at(v).known ? *at(v).known
                               : Tensor::wrap(base_type(program_.values[v].dtype), at(v).shape, nullptr));
    }
    for (ValueId v : outputs) {
      auto tensor = Tensor::allocate(program_.values[v].dtype, at(v).shape);
      if (!tensor.ok()) return false;
      out.push_back(tensor.take());
    }
    KernelInit init{graph_.name(s.node), type.op, type.view(), type.input_types, type.output_types, nullptr, 0};
    auto kernel = cpu_kernel(type)(init);
    if (!kernel.ok()) return false;
    HostAllocator allocator;
    Sequential parallel;
    KernelContext context;
    context.inputs_ = in;
    context.outputs_ = out;
    context.allocator_ = &allocator;
    context.parallel_ = &parallel;
    context.node_name_ = graph_.name(s.node);
    const FlushDenormals flush;
    if (!(*kernel)->prepare(context).ok() || !run_kernel(**kernel, context).ok()) return false;
    for (size_t i = 0; i < outputs.size(); ++i) fix(outputs[i], std::move(out[i]));
    plan_.modes[id] = InstructionMode::kSkip;
    return true;
  }

  // Of what was worked out once, only what a step reads stays in memory.
  void release_unread() {
    std::set<const std::byte*> read;
    const auto add = [&](ValueId v) {
      if (v != kNoValue && at(v).known) read.insert(static_cast<const std::byte*>(at(v).known->raw()));
    };
    for (InstructionId id = 0; id < program_.instructions.size(); ++id) {
      if (plan_.modes[id] == InstructionMode::kSkip) continue;
      for (ValueId v : program_.inputs(program_.instructions[id])) add(v);
    }
    for (ValueId v : program_.fetches) add(v);
    std::set<const std::byte*> unread;
    for (const ValueId v : plan_.worked_out) {
      const auto* made = static_cast<const std::byte*>(at(v).known->raw());
      if (read.contains(made))
        plan_.kept.push_back(v);
      else
        unread.insert(made);
    }
    for (Tensor& t : plan_.tensors) {  // all that share the memory, whatever their shapes
      if (unread.contains(static_cast<const std::byte*>(t.raw()))) t = Tensor::wrap(t.dtype(), t.shape(), nullptr);
    }
  }

  const Graph& graph_;
  const DeviceSet& devices_;
  const Program& program_;
  Plan& plan_;
  const std::vector<PlainLoop>& loops_;
  LooseReaders loose_{graph_, devices_, program_};
  bool each_step_ = false;  // somebody looks at values, wherever they are
  RuleContext rule_;
  std::map<ValueId, HandleInfo> handles_;
  std::vector<uint8_t> wanted_;      // by value: a shape depends on it
  std::vector<ConstantPart> parts_;  // by instruction
  int64_t spare_bytes_ = std::min(kMaxGrownBytes, HostMemory::of_process().limit() / kGrownPartOfLimit);
};

}  // namespace

Result<Plan> settle(const GraphFile& file, const DeviceSet& devices, const Program& program,
                    const std::vector<Tensor>& feeds, Constants constants, const std::vector<PlainLoop>& loops) {
  Plan plan;
  plan.devices.resize(devices.size());
  RETURN_IF_ERROR(Settler(file, devices, program, plan, loops).run(feeds, constants));
  choose_storage(file, devices, program, plan, loops);
  return plan;
}

}  // namespace emplace
