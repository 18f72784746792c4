#include "core/run/slot_operands.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/cat.h"
#include "core/base/kept_by_thread.h"
#include "core/plan/output_rule.h"
#include "core/plan/rule_context.h"

namespace emplace {
namespace {

// Of the thread's current instruction: what its shape rule says.
RuleContext& rule_of_thread() {
  static constinit thread_local KeptByThread<RuleContext> rule;
  return rule.get();
}

bool is_handle(const Tensor& t) { return is_ref(t.dtype()) || t.dtype() == DType::kResource; }

}  // namespace

Status other_shape(size_t input, const Shape& found, const Shape& planned) {
  return failed_precondition(
      cat("input ", input, " has shape ", found.to_string(), ", declared was ", planned.to_string()));
}

SlotOperands::SlotOperands(PreparedProgram& p)
    : p_(p), dead_(p.program.values.size()), releases_(p.program.instructions.size()) {}

// A slot is emptied after its last reader; values that enter a loop are kept until the loop has ended.
void SlotOperands::list_releases() {
  const Program& program = p_.program;
  std::vector<char> enters(program.instructions.size());
  for (InstructionId loop = 0; loop < program.instructions.size(); ++loop) {
    if (program.instructions[loop].kind == InstructionKind::kLoop)
      std::fill(enters.begin() + loop, enters.begin() + program.instructions[loop].entered, 1);
  }
  std::vector<char> stays(p_.plan.values.size());  // until the next iteration
  for (const PlainLoop& loop : p_.plain_loops) {
    for (const LoopVariable& v : loop.variables) stays[v.next] = 1;
  }
  for (ValueId v = 0; v < p_.plan.values.size(); ++v) {
    const ValuePlan& plan = p_.plan.values[v];
    const InstructionId producer = program.values[v].producer;
    if (plan.storage != Storage::kSlot || producer == kNoInstruction || plan.last_use >= program.instructions.size())
      continue;
    if (plan.same_as != kNoValue || stays[v]) continue;
    const Control control = program.instructions[producer].control;
    if (control == Control::kEnter) continue;
    if (enters[producer] && p_.file.graph.traits(program.values[v].tensor.node).control == Control::kEnter) continue;
    const bool next = control == Control::kNextIteration;  // read by an instruction before its producer
    releases_[next ? plan.last_use : std::max(plan.last_use, producer)].push_back(v);
  }
  if (!p_.plain_loops.empty()) list_last_reads();
}

void SlotOperands::list_last_reads() {
  last_reads_.resize(p_.program.instructions.size());
  keeps_.resize(p_.program.instructions.size());
  for (const PlainLoop& loop : p_.plain_loops) {
    for (InstructionId id = loop.loop; id < p_.program.instructions[loop.loop].body_end; ++id) {
      const auto inputs = p_.program.inputs(p_.program.instructions[id]);
      keeps_[id] = keeps_inputs(p_.file.graph, p_.program, p_.program.instructions[id]);
      for (size_t i = 0; i < std::min<size_t>(inputs.size(), 64); ++i) {
        const ValueId v = p_.plan.source(inputs[i]);
        const auto is_it = [&](ValueId other) { return p_.plan.source(other) == v; };
        if (std::any_of(releases_[id].begin(), releases_[id].end(), is_it) &&
            std::count_if(inputs.begin(), inputs.end(), is_it) == 1)
          last_reads_[id] |= uint64_t{1} << i;
      }
    }
  }
}

Status SlotOperands::gather_in_plain_loop(InstructionId id) {
  const auto inputs = p_.program.inputs(p_.program.instructions[id]);
  KernelContext& c = p_.bound[id].context;
  const uint64_t last = last_reads_[id];
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueId v = p_.plan.source(inputs[i]);
    if (i < 64 && ((last >> i) & 1))
      c.inputs_[i] = std::exchange(p_.values[v], Tensor());
    else
      c.inputs_[i] = p_.values[v];
    const Shape& planned = p_.plan.values[inputs[i]].shape;
    if (p_.plan.modes[id] == InstructionMode::kPlanned && !(c.inputs_[i].shape() == planned))
      return other_shape(i, c.inputs_[i].shape(), planned);
    if (keeps_[id] && !c.inputs_[i].buffer() && p_.plan.values[v].storage != Storage::kFixed)
      RETURN_IF_ERROR(copy_out(id, c.inputs_[i]));
  }
  return ok_status();
}

// Of what may lie in the block.
Status SlotOperands::copy_out(InstructionId id, Tensor& value) {
  if (value.size_bytes() == 0) return ok_status();
  ASSIGN_OR_RETURN(Tensor copy, p_.bound[id].context.allocator_->allocate(value.dtype(), value.shape()));
  std::memcpy(copy.raw(), value.raw(), value.size_bytes());
  value = std::move(copy);
  return ok_status();
}

// Is this the last instruction that reads the value, and does it read it once?
bool SlotOperands::is_released(ValueId v, InstructionId id) const {
  const auto inputs = p_.program.inputs(p_.program.instructions[id]);
  const auto& released = releases_[id];
  return std::find(released.begin(), released.end(), v) != released.end() &&
         std::count(inputs.begin(), inputs.end(), v) == 1;
}

Status SlotOperands::gather(InstructionId id) {
  const Instruction& s = p_.program.instructions[id];
  KernelContext& c = p_.bound[id].context;
  auto inputs = p_.program.inputs(s);
  const bool is_node = s.kind == InstructionKind::kNode;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueId v = inputs[i];
    if (dead_[v] && p_.program.instructions[p_.program.values[v].producer].may_be_dead) {
      c.inputs_[i] = Tensor();  // a Merge's
      continue;
    }
    const bool wants_handle = is_node && is_ref(p_.file.graph.type(s.node).input_types[i]);
    if (is_ref(p_.program.values[v].dtype) && !wants_handle) {
      ASSIGN_OR_RETURN(c.inputs_[i], read_reference(**p_.values[v].data<Variable*>()));
    } else if (p_.program.values[v].dtype == DType::kVariant && is_released(v, id)) {
      c.inputs_[i] = std::exchange(p_.values[v], Tensor());  // who has a list to itself changes it in place
    } else {
      c.inputs_[i] = p_.values[p_.plan.source(v)];
    }
    const Shape& planned = p_.plan.values[v].shape;
    if (p_.plan.modes[id] == InstructionMode::kPlanned && is_node && !(c.inputs_[i].shape() == planned) &&
        !wants_handle) {
      return other_shape(i, c.inputs_[i].shape(), planned);
    }
  }
  return ok_status();
}

Status SlotOperands::check_inputs(InstructionId id) const {
  const Instruction& s = p_.program.instructions[id];
  const KernelContext& c = p_.bound[id].context;
  auto inputs = p_.program.inputs(s);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& in = c.inputs_[i];
    RETURN_IF_ERROR(in.valid() && is_handle(in) ? p_.guard.check_variable(s.device, c.variable(static_cast<int>(i)))
                                                : p_.guard.check(inputs[i], in));
  }
  return ok_status();
}

// A reference's own shape is not that of its variable, which others may be writing.
Status SlotOperands::infer_shapes(InstructionId id, const NodeType& type) {
  static const Shape unknown = Shape::unknown();
  const KernelContext& c = p_.bound[id].context;
  RuleContext& rule = rule_of_thread();
  rule.begin(type);
  for (size_t i = 0; i < rule.inputs.size(); ++i) {
    const Tensor& in = c.inputs_[i];
    rule.inputs[i] = {is_ref(in.dtype()) ? &unknown : &in.shape(), is_handle(in) ? nullptr : &in, nullptr};
  }
  return type.def->shape_rule()(rule);
}

// Room for an output whose shape is known before the kernel runs.
Status SlotOperands::allocate_output(InstructionId id, size_t i, const PlacedValue& value, const Shape& shape) {
  if (!shape.checked_num_elements())
    return invalid_argument(cat("shape ", shape.to_string(), " has too many elements"));
  KernelContext& c = p_.bound[id].context;
  Allocator* allocator = value.home == p_.program.host ? c.host_allocator_ : c.allocator_;
  ASSIGN_OR_RETURN(c.outputs_[i], allocator->allocate(value.dtype, shape));
  return ok_status();
}

// By the rule as long as shapes, or values that it reads, may be others than those of the last run.
Result<const std::vector<Shape>*> SlotOperands::shapes_by_rule(InstructionId id, const OpDef* def) {
  BoundInstruction& b = p_.bound[id];
  const bool same = !def->provides() && is_prepared_for_inputs(id, def);
  if (same && !b.settled.empty()) return static_cast<const std::vector<Shape>*>(&b.settled);
  if (!same && !def->provides()) b.prepared = false;  // whatever fails from here on
  RETURN_IF_ERROR(infer_shapes(id, p_.file.graph.type(p_.program.instructions[id].node)));
  if (!def->provides()) b.settled = rule_of_thread().outputs;
  return static_cast<const std::vector<Shape>*>(&rule_of_thread().outputs);
}

Status SlotOperands::settle_outputs(InstructionId id) {
  const Instruction& s = p_.program.instructions[id];
  KernelContext& c = p_.bound[id].context;
  const OpDef* def = s.kind == InstructionKind::kNode ? p_.file.graph.type(s.node).def : nullptr;
  const bool planned = p_.plan.modes[id] == InstructionMode::kPlanned;
  const bool own_rule = def && !planned && s.control == Control::kNone;
  const std::vector<Shape>* by_rule = nullptr;
  if (own_rule) {
    ASSIGN_OR_RETURN(by_rule, shapes_by_rule(id, def));
  }
  auto outputs = p_.program.outputs(s);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const PlacedValue& value = p_.program.values[outputs[i]];
    const ValuePlan& plan = p_.plan.values[outputs[i]];
    if (plan.storage == Storage::kBlock) {
      c.outputs_[i] = p_.values[outputs[i]];
      continue;
    }
    const Shape& shape = planned             ? plan.shape
                         : by_rule           ? (*by_rule)[i]
                         : c.inputs_.empty() ? plan.shape
                                             : c.inputs_[0].shape();
    const bool settled = (planned || own_rule) && shape.fully_known();
    if (settled && def && !def->provides() && !def->forwards())
      RETURN_IF_ERROR(allocate_output(id, i, value, shape));
    else
      c.outputs_[i] = Tensor::wrap(value.dtype, settled ? shape : Shape{0}, nullptr);
  }
  return prepare_for_inputs(id, def);
}

bool SlotOperands::is_prepared_for_inputs(InstructionId id, const OpDef* def) const {
  const BoundInstruction& b = p_.bound[id];
  const std::span<const Tensor> inputs = b.context.inputs_;
  if (!b.prepared || !std::equal(inputs.begin(), inputs.end(), b.prepared_for.begin(), b.prepared_for.end(),
                                 [](const Tensor& in, const Shape& shape) { return in.shape() == shape; }))
    return false;
  if (!def) return true;
  const auto& values = def->value_input_list();
  return std::all_of(values.begin(), values.end(), [&](int entry) {
    const int i = entry < 0 ? b.context.num_inputs() + entry : entry;
    return b.context.input_is_constant(i);
  });
}

// Prepares again where shapes differ from the last run, or values that the kernel reads may.
Status SlotOperands::prepare_for_inputs(InstructionId id, const OpDef* def) {
  BoundInstruction& b = p_.bound[id];
  std::span<const Tensor> inputs = b.context.inputs_;
  if (p_.plan.modes[id] == InstructionMode::kPlanned) return b.prepared ? ok_status() : p_.prepare_kernel(id);
  if (is_prepared_for_inputs(id, def)) return ok_status();
  b.prepared_for.clear();
  for (const Tensor& in : inputs) b.prepared_for.push_back(in.shape());
  return p_.prepare_kernel(id);
}

void SlotOperands::scatter(InstructionId id) {
  KernelContext& c = p_.bound[id].context;
  auto outputs = p_.program.outputs(p_.program.instructions[id]);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ValueId v = outputs[i];
    dead_[v] = !c.outputs_[i].valid();
    if (p_.plan.values[v].storage == Storage::kSlot)
      p_.values[v] = std::move(c.outputs_[i]);  // settle_outputs() writes over what is left here
    else
      c.outputs_[i] = Tensor();
  }
}

}  // namespace emplace
