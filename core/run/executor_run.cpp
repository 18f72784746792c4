// Running: the flat launches, and the general step with slots, dead tensors, shapes found on the way, and loops.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/base/assert.h"
#include "core/base/cat.h"
#include "core/device/memory_pool.h"
#include "core/partition/meetings.h"
#include "core/plan/rule_context.h"
#include "core/run/executor.h"
#include "core/run/gpu_kernels.h"

namespace emplace {

Status Executor::run(int64_t step) {
  FlushDenormals flush;
  const GpuTurn turn(runtime_, gpus_);
  has_run_ = true;
  copy_bytes_ = settled_copy_bytes_;
  Status status = parallel_run_ ? run_in_parallel(step) : run_in_order(step);
  if (!status.ok()) return with_live_set(std::move(status));
  RETURN_IF_ERROR(runtime_.wait_for_gpus(gpus_));
  return runtime_.stop.status();
}

Status Executor::run_launch(const Launch& launch, int64_t step) {
  if (!launch.kernel) return run_step(launch.step);
  launch.context->step_ = step;
  Status status = launch.kernel->run(*launch.context);
  if (status.ok()) return ok_status();
  const auto* recorded = dynamic_cast<const RecordedRun*>(launch.kernel);
  return failed(std::move(status),
                recorded && recorded->failed_instruction() != kNoInstruction ? recorded->failed_instruction() : launch.step);
}

Status Executor::run_in_order(int64_t step) {
  if (runtime_.observer) {
    met_.clear();
    for (const Launch& launch : launches_) {
      if (runtime_.stop.asked()) return runtime_.stop.status();
      RETURN_IF_ERROR(run_observed(launch, step));
    }
    return ok_status();
  }
  for (const Launch& launch : launches_) {
    if (runtime_.stop.asked()) return runtime_.stop.status();
    if (Status status = run_launch(launch, step); !status.ok()) return status;
  }
  return ok_status();
}

// run_step() and run_kernel() tell the observer themselves, since loops come by there.
Status Executor::run_observed(const Launch& launch, int64_t step) {
  if (!launch.kernel) return run_launch(launch, step);
  ObservedInstruction what = observed(program_.instructions[launch.step]);
  runtime_.observer->starting(what);
  RETURN_IF_ERROR(run_launch(launch, step));
  return show(what, launch.step, launch.context->outputs_);
}

// The members of a collective, which are done together, are shown when the last has run.
Status Executor::show(const ObservedInstruction& what, InstructionId id, std::span<const Tensor> outputs) {
  if (gpus_.empty()) return runtime_.observer->finished(what, outputs);
  const Instruction& s = program_.instructions[id];
  if (s.kind != InstructionKind::kNode || !is_collective(graph_, s.node))
    return show_device(what, id, {outputs.begin(), outputs.end()});
  met_.push_back({what, id, {outputs.begin(), outputs.end()}});
  if (static_cast<int64_t>(met_.size()) < graph_.attrs(s.node).integer("num_devices")) return ok_status();
  for (Met& met : std::exchange(met_, {})) RETURN_IF_ERROR(show_device(met.what, met.step, std::move(met.outputs)));
  return ok_status();
}

// What lies in a GPU's memory is shown as a copy.
Status Executor::show_device(const ObservedInstruction& what, InstructionId id, std::vector<Tensor> seen) {
  auto values = program_.outputs(program_.instructions[id]);
  for (size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i].valid() || is_ref(seen[i].dtype())) continue;
    ASSIGN_OR_RETURN(Gpu * gpu, gpu_of(values[i]));
    if (!gpu) continue;
    ASSIGN_OR_RETURN(seen[i], copy_to_host(*gpu, seen[i]));
  }
  return runtime_.observer->finished(what, seen);
}

ObservedInstruction Executor::observed(const Instruction& s) const {
  if (s.kind != InstructionKind::kCopy) return {s.node, s.device};
  const PlacedValue& from = program_.values[program_.inputs(s)[0]];
  return {from.tensor.node, program_.values[program_.outputs(s)[0]].home, from.home};
}

// A constant, or a node that hands its input on. A copy of a constant was made before the first step.
Status Executor::observe_skipped(InstructionId id) {
  const Instruction& s = program_.instructions[id];
  if (s.kind == InstructionKind::kCopy) return ok_status();
  ObservedInstruction what = observed(s);
  if (s.kind == InstructionKind::kNode) runtime_.observer->starting(what);
  std::vector<Tensor> outputs;
  for (ValueId v : program_.outputs(s)) outputs.push_back(values_[v]);
  return show(what, id, outputs);
}

Status Executor::run_in_parallel(int64_t step) {
  return parallel_run_->run([&](InstructionId id) {
    if (launch_of_[id] == kNoInstruction) return ok_status();
    if (runtime_.stop.asked()) return runtime_.stop.status();
    return run_launch(launches_[launch_of_[id]], step);
  });
}

Status Executor::run_range(InstructionId begin, InstructionId end) {
  for (InstructionId id = begin; id < end; ++id) {
    if (runtime_.stop.asked()) return runtime_.stop.status();
    RETURN_IF_ERROR(run_step(id));
    if (program_.instructions[id].kind == InstructionKind::kLoop) id = program_.instructions[id].body_end - 1;
  }
  return ok_status();
}

Status Executor::run_step(InstructionId id) {
  const Instruction& s = program_.instructions[id];
  if (s.kind == InstructionKind::kLoop) return run_loop(id);
  if (plan_.modes[id] == InstructionMode::kSkip) return runtime_.observer ? observe_skipped(id) : ok_status();
  if (s.may_be_dead && is_dead(s)) {
    mark_dead(id);
  } else {
    RETURN_IF_ERROR(failed(run_kernel(id), id));
  }
  release(id);
  return ok_status();
}

// The Enters once, then the body as long as a NextIteration is alive. Values that a Merge took at the first
// iteration are dead in the next.
Status Executor::run_loop(InstructionId id) {
  const Instruction& loop = program_.instructions[id];
  auto for_each = [&](Control control, const auto& f) {
    for (InstructionId b = id + 1; b < loop.body_end; ++b) {
      const Instruction& s = program_.instructions[b];
      if (s.kind == InstructionKind::kLoop)
        b = s.body_end - 1;
      else if (s.control == control)
        f(b, program_.outputs(s)[0]);
    }
  };
  for_each(Control::kNextIteration, [&](InstructionId, ValueId v) { value_dead_[v] = 1; });
  RETURN_IF_ERROR(run_range(id + 1, loop.entered));
  std::vector<std::pair<ValueId, Tensor>> fetched;  // what an Enter gave is a result, too
  for_each(Control::kEnter, [&](InstructionId, ValueId v) {
    bool wanted =
        !value_dead_[v] && std::find(program_.fetches.begin(), program_.fetches.end(), v) != program_.fetches.end();
    if (wanted) fetched.emplace_back(v, values_[v]);
  });
  for (;;) {
    RETURN_IF_ERROR(run_range(loop.entered, loop.body_end));
    bool again = false;
    for_each(Control::kNextIteration, [&](InstructionId, ValueId v) { again |= !value_dead_[v]; });
    if (!again) break;
    for_each(Control::kEnter, [&](InstructionId b, ValueId v) {
      if (graph_.attrs(program_.instructions[b].node).flag("is_constant")) return;
      value_dead_[v] = 1;
      values_[v] = Tensor();
    });
  }
  for_each(Control::kEnter, [&](InstructionId, ValueId v) { values_[v] = Tensor(); });
  for (auto& [v, value] : fetched) {
    value_dead_[v] = 0;
    values_[v] = std::move(value);
  }
  return ok_status();
}

bool Executor::is_dead(const Instruction& s) const {
  if (s.control == Control::kTrigger) return false;
  for (InstructionId c : program_.controls_of(s)) {
    if (step_dead_[c]) return true;
  }
  auto inputs = program_.inputs(s);
  if (s.control == Control::kMerge) {
    for (ValueId v : inputs) {
      if (!value_dead_[v]) return false;
    }
    return true;
  }
  for (ValueId v : inputs) {
    if (value_dead_[v]) return true;
  }
  return false;
}

void Executor::mark_dead(InstructionId id) {
  step_dead_[id] = 1;
  for (ValueId v : program_.outputs(program_.instructions[id])) value_dead_[v] = 1;
}

Status Executor::run_kernel(InstructionId id) {
  BoundInstruction& b = bound_[id];
  RETURN_IF_ERROR(gather(id));
  if (guard_.needed()) RETURN_IF_ERROR(check_inputs(id));
  RETURN_IF_ERROR(settle_outputs(id));
  if (!runtime_.observer) {
    RETURN_IF_ERROR(b.kernel->run(b.context));
  } else {
    ObservedInstruction what = observed(program_.instructions[id]);
    runtime_.observer->starting(what);
    RETURN_IF_ERROR(b.kernel->run(b.context));
    RETURN_IF_ERROR(show(what, id, b.context.outputs_));
  }
  scatter(id);
  return ok_status();
}

Status Executor::check_inputs(InstructionId id) const {
  const Instruction& s = program_.instructions[id];
  const KernelContext& c = bound_[id].context;
  auto inputs = program_.inputs(s);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& in = c.inputs_[i];
    bool handle = in.valid() && (is_ref(in.dtype()) || in.dtype() == DType::kResource);
    RETURN_IF_ERROR(handle ? guard_.check_variable(s.device, c.variable(static_cast<int>(i)))
                           : guard_.check(inputs[i], in));
  }
  return ok_status();
}

// Inputs as they are now; a reference is read where the op wants a value.
Status Executor::gather(InstructionId id) {
  const Instruction& s = program_.instructions[id];
  KernelContext& c = bound_[id].context;
  auto inputs = program_.inputs(s);
  for (size_t i = 0; i < inputs.size(); ++i) {
    ValueId v = inputs[i];
    if (value_dead_[v] && program_.instructions[program_.values[v].producer].may_be_dead) {
      c.inputs_[i] = Tensor();  // a Merge's
      continue;
    }
    bool wants_handle = s.kind == InstructionKind::kNode && is_ref(graph_.type(s.node).input_types[i]);
    if (is_ref(program_.values[v].dtype) && !wants_handle) {
      ASSIGN_OR_RETURN(c.inputs_[i], read_reference(**values_[v].data<Variable*>()));
    } else {
      c.inputs_[i] = values_[v];
    }
    const Shape& planned = plan_.values[v].shape;
    if (plan_.modes[id] == InstructionMode::kPlanned && s.kind == InstructionKind::kNode &&
        !(c.inputs_[i].shape() == planned) && !wants_handle) {
      return failed_precondition(
          cat("input ", i, " has shape ", c.inputs_[i].shape().to_string(), ", declared was ", planned.to_string()));
    }
  }
  return ok_status();
}

// Shapes and storage of the outputs. A planned step has both, but for what its kernel provides.
Status Executor::settle_outputs(InstructionId id) {
  const Instruction& s = program_.instructions[id];
  BoundInstruction& b = bound_[id];
  KernelContext& c = b.context;
  auto outputs = program_.outputs(s);
  const OpDef* def = s.kind == InstructionKind::kNode ? graph_.type(s.node).def : nullptr;
  bool planned = plan_.modes[id] == InstructionMode::kPlanned;
  bool own_rule = def && !planned && s.control == Control::kNone;
  thread_local RuleContext rule;
  static const Shape unknown = Shape::unknown();
  if (own_rule) {
    rule.begin(graph_.type(s.node));
    for (size_t i = 0; i < rule.inputs.size(); ++i) {
      bool handle = c.inputs_[i].dtype() == DType::kResource || is_ref(c.inputs_[i].dtype());
      // A reference's own shape is not that of its variable, which others may be writing.
      rule.inputs[i] = {is_ref(c.inputs_[i].dtype()) ? &unknown : &c.inputs_[i].shape(),
                        handle ? nullptr : &c.inputs_[i], nullptr};
    }
    RETURN_IF_ERROR(def->shape_rule()(rule));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const PlacedValue& value = program_.values[outputs[i]];
    const ValuePlan& p = plan_.values[outputs[i]];
    if (p.storage == Storage::kBlock) {
      c.outputs_[i] = values_[outputs[i]];
      continue;
    }
    const Shape& shape = planned             ? p.shape
                         : own_rule          ? rule.outputs[i]
                         : c.inputs_.empty() ? p.shape
                                             : c.inputs_[0].shape();
    bool settled = (planned || own_rule) && shape.fully_known();
    if (settled && def && !def->provides() && !def->forwards()) {
      RETURN_IF_ERROR(shape.checked_num_elements()
                          ? ok_status()
                          : invalid_argument(cat("shape ", shape.to_string(), " has too many elements")));
      bool on_host = value.home == program_.host;
      ASSIGN_OR_RETURN(c.outputs_[i], (on_host ? c.host_allocator_ : c.allocator_)->allocate(value.dtype, shape));
    } else {
      Shape known = settled ? shape : Shape{0};
      c.outputs_[i] = Tensor::wrap(value.dtype, known, nullptr);
    }
  }
  bool same = b.prepared && (planned || b.prepared_for.size() == c.inputs_.size());
  for (size_t i = 0; same && !planned && i < c.inputs_.size(); ++i) same = c.inputs_[i].shape() == b.prepared_for[i];
  if (same && (planned || !def || def->value_input_list().empty())) return ok_status();
  b.prepared_for.clear();
  for (size_t i = 0; !planned && i < c.inputs_.size(); ++i) b.prepared_for.push_back(c.inputs_[i].shape());
  return prepare_kernel(id);
}

void Executor::scatter(InstructionId id) {
  const Instruction& s = program_.instructions[id];
  KernelContext& c = bound_[id].context;
  auto outputs = program_.outputs(s);
  step_dead_[id] = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    ValueId v = outputs[i];
    value_dead_[v] = !c.outputs_[i].valid();
    if (plan_.values[v].storage == Storage::kSlot) values_[v] = std::move(c.outputs_[i]);
    c.outputs_[i] = Tensor();
  }
  if (s.kind == InstructionKind::kCopy) copy_bytes_ += static_cast<int64_t>(c.inputs_[0].size_bytes());
  for (Tensor& t : c.inputs_) t = Tensor();
}

void Executor::release(InstructionId id) {
  for (ValueId v : releases_[id]) values_[v] = Tensor();
}

// Copies from GPUs are enqueued first, all of them, then waited for, also if there is no going on.
Status Executor::fetch(std::vector<Tensor>& outputs) {
  outputs.resize(program_.fetches.size());
  const GpuTurn turn(runtime_, gpus_);
  Status status;
  for (size_t i = 0; i < outputs.size() && status.ok(); ++i) status = start_fetch(i, outputs[i]);
  for (const auto& [gpu, ticket] : fetches_under_way_) {
    if (Status done = gpu->finish(ticket); status.ok()) status = std::move(done);
  }
  fetches_under_way_.clear();
  return status;
}

Status Executor::start_fetch(size_t i, Tensor& out) {
  ValueId v = program_.fetches[i];
  InstructionId producer = program_.values[v].producer;
  if (producer != kNoInstruction && program_.instructions[producer].may_be_dead && value_dead_[v]) {
    return invalid_argument(cat("Retval[", i, "] does not have value"));
  }
  Tensor value = values_[v];
  if (is_ref(value.dtype())) {
    auto read = read_reference(**value.data<Variable*>());
    if (!read.ok()) return failed(read.take_status(), producer);
    value = read.take();
  }
  EMPLACE_ASSERT(value.valid(), "a fetched value that is not dead was made by its step");
  bool fits = out.valid() && out.dtype() == value.dtype() && out.shape() == value.shape() && out.buffer() &&
              out.buffer().use_count() == 1;
  if (!fits) {
    const DevicePool& host = *runtime_.pools[program_.host];
    const auto bytes = static_cast<int64_t>(value.size_bytes());
    const int64_t left =
        machine_memory_bytes() - host.block_bytes() - host.persistent_bytes() - host.peak_transient_bytes();
    if (bytes > left) {
      return failed(resource_exhausted(cat("the fetched tensor needs ", bytes, " bytes of ", host.device_name(),
                                           " beside the run, where ", std::max<int64_t>(left, 0), " are left")),
                    producer);
    }
    ASSIGN_OR_RETURN(out, Tensor::allocate(value.dtype(), value.shape()));
  }
  ASSIGN_OR_RETURN(Gpu * gpu, gpu_of(v));
  if (gpu) {
    if (out.size_bytes() == 0) return ok_status();
    ASSIGN_OR_RETURN(const uint64_t ticket,
                     gpu->copy_out(out.raw(), value.raw(), out.size_bytes(), Gpu::Lane::kCompute));
    fetches_under_way_.emplace_back(gpu, ticket);
    return ok_status();
  }
  if (value.dtype() == DType::kString)
    std::copy(value.flat<std::string>().begin(), value.flat<std::string>().end(), out.data<std::string>());
  else if (value.size_bytes() > 0)
    std::memcpy(out.raw(), value.raw(), value.size_bytes());
  return ok_status();
}

}  // namespace emplace
