// Binding: kernels made, values placed. Running is in executor_run.cpp.
#include "core/run/executor.h"

#include <cstring>

#include "core/base/assert.h"
#include "core/base/cat.h"
#include "core/run/copy_kernel.h"

namespace emplace {

Executor::Executor(const GraphFile& file, const Program& program, const Plan& plan, Runtime& runtime,
                   std::vector<std::byte*> blocks)
    : file_(file), graph_(file.graph), program_(program), plan_(plan), runtime_(runtime), blocks_(std::move(blocks)),
      bound_(program.steps.size()), values_(program.values.size()), operands_(program.operands.size()),
      value_dead_(program.values.size()), step_dead_(program.steps.size()), releases_(program.steps.size()) {}

Status Executor::bind() {
  RETURN_IF_ERROR(place_values());
  for (StepId id = 0; id < program_.steps.size(); ++id) {
    const Step& s = program_.steps[id];
    StepMode mode = plan_.modes[id];
    if (s.kind == StepKind::kCopy && (mode == StepMode::kSkip || mode == StepMode::kDirect)) {
      const ValuePlan& copied = plan_.values[program_.inputs(s)[0]];
      settled_copy_bytes_ += copied.shape.num_elements() *
                             static_cast<int64_t>(dtype_size(program_.values[program_.outputs(s)[0]].dtype));
    }
    if (s.kind == StepKind::kLoop || mode == StepMode::kSkip) continue;
    RETURN_IF_ERROR(make_kernel(id));
    bind_operands(id);
    if (mode == StepMode::kDirect) RETURN_IF_ERROR(failed(prepare_planned(id), id));
  }
  list_releases();
  for (StepId id = 0; id < program_.steps.size(); ++id) {
    const Step& s = program_.steps[id];
    if (plan_.modes[id] != StepMode::kSkip || s.kind == StepKind::kLoop) {
      Bound& b = bound_[id];
      launches_.push_back({plan_.modes[id] == StepMode::kDirect ? b.kernel.get() : nullptr, &b.context, id});
    }
    if (s.kind == StepKind::kLoop) id = s.body_end - 1;
  }
  return ok_status();
}

// Slots are emptied after their last reader. What enters a loop stays until the loop has ended.
void Executor::list_releases() {
  for (ValueId v = 0; v < plan_.values.size(); ++v) {
    const ValuePlan& p = plan_.values[v];
    StepId producer = program_.values[v].producer;
    if (p.storage != Storage::kSlot || producer == kNoStep || p.last_use >= program_.steps.size()) continue;
    Control control = program_.steps[producer].control;
    if (control == Control::kEnter) continue;
    bool next = control == Control::kNextIteration;  // read by a step before its producer
    releases_[next ? p.last_use : std::max(p.last_use, producer)].push_back(v);
  }
}

Status Executor::place_values() {
  for (ValueId v = 0; v < values_.size(); ++v) {
    const ValuePlan& p = plan_.values[v];
    const Value& value = program_.values[v];
    if (p.storage == Storage::kBlock) {
      values_[v] = Tensor::wrap(value.dtype, p.shape, blocks_[value.home] + p.offset);
    } else if (p.storage == Storage::kFixed && value.home == program_.host) {
      values_[v] = *p.known;
    } else if (p.storage == Storage::kFixed) {
      auto placed = runtime_.pools[value.home]->allocate_persistent(value.dtype, p.shape);
      if (!placed.ok()) return attach_node(placed.take_status(), graph_.name(value.tensor.node));
      values_[v] = placed.take();
      std::memcpy(values_[v].raw(), p.known->raw(), p.known->size_bytes());
    }
  }
  return ok_status();
}

Status Executor::make_kernel(StepId id) {
  const Step& s = program_.steps[id];
  Bound& b = bound_[id];
  if (s.kind == StepKind::kCopy) {
    const Value& from = program_.values[program_.inputs(s)[0]];
    b.kernel = std::make_unique<CopyKernel>(from.home == program_.values[program_.outputs(s)[0]].home && !is_ref(from.dtype));
    return ok_status();
  }
  const NodeType& type = graph_.type(s.node);
  KernelInit init{graph_.name(s.node), type.op,        type.view(), type.input_types, type.output_types,
                  runtime_.variables[s.device].get(), runtime_.seed_of(s.node)};
  auto kernel = type.def->cpu_kernel(kernel_type(type))(init);
  if (!kernel.ok()) return attach_node(kernel.take_status(), init.node_name);
  b.kernel = kernel.take();
  return ok_status();
}

void Executor::bind_operands(StepId id) {
  const Step& s = program_.steps[id];
  KernelContext& c = bound_[id].context;
  c.inputs_ = {operands_.data() + s.first_operand, s.num_inputs};
  c.outputs_ = {operands_.data() + s.first_operand + s.num_inputs, s.num_outputs};
  c.allocator_ = runtime_.pools[s.device].get();
  c.host_allocator_ = runtime_.pools[program_.host].get();
  c.parallel_ = runtime_.parallel;
  c.node_name_ = graph_.name(s.node);
  auto outputs = program_.outputs(s);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (program_.values[outputs[i]].home == program_.host) c.host_outputs_ |= uint64_t{1} << (i < 63 ? i : 63);
  }
  if (plan_.modes[id] != StepMode::kDirect) return;
  auto inputs = program_.inputs(s);
  for (size_t i = 0; i < inputs.size(); ++i) c.inputs_[i] = values_[inputs[i]];
  for (size_t i = 0; i < outputs.size(); ++i) c.outputs_[i] = values_[outputs[i]];
}

Status Executor::prepare_planned(StepId id) {
  Bound& b = bound_[id];
  b.prepared = true;
  return b.kernel->prepare(b.context);
}

Status Executor::failed(Status status, StepId id) const {
  if (status.ok() || status.code() == Code::kCancelled || status.code() == Code::kDeadlineExceeded) return status;
  return attach_node(std::move(status), graph_.name(program_.steps[id].node));
}

}  // namespace emplace
