// From a program to something that runs: planned, kernels made, memory bound. Running is in executor_run.cpp.
#include "core/run/executor.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/base/assert.h"
#include "core/base/cat.h"
#include "core/graph/node_kernel.h"
#include "core/plan/planned_memory.h"
#include "core/run/finite_check.h"
#include "core/run/live_set.h"

namespace emplace {

Executor::Executor(const GraphFile& file, const DeviceSet& devices, Program program, Runtime& runtime,
                   ProgramThreads threads)
    : file_(file),
      graph_(file.graph),
      devices_(devices),
      program_(std::move(program)),
      runtime_(runtime),
      threads_(threads),
      bound_(program_.instructions.size()),
      values_(program_.values.size()),
      operands_(program_.operands.size()),
      guard_(program_, runtime),
      value_dead_(program_.values.size()),
      step_dead_(program_.instructions.size()),
      releases_(program_.instructions.size()) {}

Status Executor::prepare(const std::vector<Tensor>& feeds) {
  ASSIGN_OR_RETURN(plan_, settle(file_, devices_, program_, feeds));
  RETURN_IF_ERROR(place_fixed());
  const InstructionId guard = guarded_step();
  for (InstructionId id = 0; id < program_.instructions.size(); ++id) {
    if (program_.instructions[id].kind == InstructionKind::kLoop || plan_.modes[id] == InstructionMode::kSkip) continue;
    RETURN_IF_ERROR(make_kernel(id));
    if (id == guard) bound_[id].kernel = std::make_unique<FiniteCheck>(std::move(bound_[id].kernel));
    wire(id);
    if (plan_.modes[id] == InstructionMode::kDirect)
      RETURN_IF_ERROR(failed(prepare_kernel(id), id));
    else
      rehearse(id);
  }
  if (!runtime_.observer) plan_.groups = find_groups(program_, plan_, bound_);
  fuse_on_gpus();
  lay_out_memory();
  count_workspaces();
  count_settled_copies();
  for (ValueId v : program_.fetches)
    RETURN_IF_ERROR(gpu_of(v).status());  // a variable's, of whose GPU there is no step
  return ok_status();
}

// The step that computes what the program's guard hands on.
InstructionId Executor::guarded_step() const {
  InstructionId id = program_.guard;
  while (id != kNoInstruction && plan_.modes[id] == InstructionMode::kSkip) {
    const Instruction& s = program_.instructions[id];
    id = s.num_inputs == 0 ? kNoInstruction : program_.values[program_.inputs(s)[0]].producer;
  }
  // A GPU's result is not there yet when its kernel has been enqueued.
  return id != kNoInstruction && on_cuda(program_.instructions[id].device) ? kNoInstruction : id;
}

// In lanes where steps will run beside each other, unless a limit leaves no room for them.
void Executor::lay_out_memory() {
  // One thread enqueues on GPUs, which run beside it and each other as it is; branches of one run beside each other in
  // recordings.
  if (!gpus_.empty()) return lay_out_branches();
  if (threads_.inter_op > 1 && !program_.has_loops) {
    auto schedule = std::make_unique<Schedule>(graph_, program_, plan_);
    if (schedule->worth_it()) schedule_ = std::move(schedule);
  }
  if (!schedule_) return plan_memory(file_, program_, plan_);
  Plan in_lanes = plan_;
  plan_memory(file_, program_, in_lanes, schedule_->lanes());
  if (!fits(in_lanes)) return plan_memory(file_, program_, plan_);
  plan_.values = std::move(in_lanes.values);
  plan_.devices = std::move(in_lanes.devices);
}

// Beside the variables, which may not be there yet.
bool Executor::fits(const Plan& plan, int64_t times) const {
  for (DeviceId d = 0; d < devices_.size(); ++d) {
    const int64_t limit = runtime_.pools[d]->usable();
    if (runtime_.pools[d]->limit() == 0) continue;
    int64_t to_come = declared_variable_bytes(graph_, program_, d);
    for (const auto& [name, bytes] : runtime_.variables[d]->sizes()) to_come -= bytes;
    const int64_t room = limit - runtime_.pools[d]->persistent_bytes() - std::max<int64_t>(0, to_come);
    if (plan.devices[d].bytes > room / times) return false;
  }
  return true;
}

void Executor::schedule() {
  if (!schedule_) return;
  schedule_->order_memory();
  schedule_->order_releases(releases_);
  schedule_->finish();
  launch_of_.assign(program_.instructions.size(), kNoInstruction);
  for (uint32_t i = 0; i < launches_.size(); ++i) launch_of_[launches_[i].step] = i;
  parallel_run_ = std::make_unique<ParallelRun>(*schedule_, threads_.inter_op);
}

Status Executor::bind(std::vector<std::byte*> blocks) {
  place_in_blocks(blocks);
  guard_.set_blocks(blocks, plan_.devices);
  if (guard_.needed()) RETURN_IF_ERROR(check_bound());
  for (const FusedGroup& g : plan_.groups) {
    auto chain = chains_.find(g.first());
    fused_.push_back(chain != chains_.end() ? bind_chain(chain->second)
                                            : std::make_unique<FusedKernel>(g, program_, plan_, bound_));
  }
  list_releases();
  list_launches();
  order_gpu_launches();
  schedule();
  return ok_status();
}

// What is bound once is checked once.
Status Executor::check_bound() const {
  for (InstructionId id = 0; id < program_.instructions.size(); ++id) {
    const Instruction& s = program_.instructions[id];
    if (plan_.modes[id] != InstructionMode::kDirect) continue;
    for (size_t i = 0; i < s.num_inputs + s.num_outputs; ++i) {
      ValueId v = program_.operands[s.first_operand + i];
      RETURN_IF_ERROR(failed(guard_.check(v, operands_[s.first_operand + i]), id));
    }
  }
  return ok_status();
}

void Executor::list_launches() {
  size_t group = 0;
  for (InstructionId id = 0; id < program_.instructions.size(); ++id) {
    const Instruction& s = program_.instructions[id];
    bool fused = group < plan_.groups.size() && plan_.groups[group].first() == id;
    if (fused) {
      launches_.push_back({fused_[group].get(), &bound_[id].context, id});
      id = plan_.groups[group++].last();
      continue;
    }
    if (plan_.modes[id] != InstructionMode::kSkip || s.kind == InstructionKind::kLoop || runtime_.observer) {
      BoundInstruction& b = bound_[id];
      launches_.push_back({plan_.modes[id] == InstructionMode::kDirect ? b.kernel.get() : nullptr, &b.context, id});
    }
    if (s.kind == InstructionKind::kLoop) id = s.body_end - 1;
  }
}

void Executor::count_settled_copies() {
  for (InstructionId id = 0; id < program_.instructions.size(); ++id) {
    const Instruction& s = program_.instructions[id];
    bool settled = plan_.modes[id] == InstructionMode::kSkip || plan_.modes[id] == InstructionMode::kDirect;
    if (s.kind != InstructionKind::kCopy || !settled) continue;
    const PlacedValue& to = program_.values[program_.outputs(s)[0]];
    settled_copy_bytes_ +=
        plan_.values[program_.inputs(s)[0]].shape.num_elements() * static_cast<int64_t>(dtype_size(to.dtype));
  }
}

// Slots are emptied after their last reader. What enters a loop stays until the loop has ended.
void Executor::list_releases() {
  for (ValueId v = 0; v < plan_.values.size(); ++v) {
    const ValuePlan& p = plan_.values[v];
    InstructionId producer = program_.values[v].producer;
    if (p.storage != Storage::kSlot || producer == kNoInstruction || p.last_use >= program_.instructions.size())
      continue;
    Control control = program_.instructions[producer].control;
    if (control == Control::kEnter) continue;
    bool next = control == Control::kNextIteration;  // read by a step before its producer
    releases_[next ? p.last_use : std::max(p.last_use, producer)].push_back(v);
  }
}

Status Executor::place_fixed() {
  for (ValueId v = 0; v < values_.size(); ++v) {
    const ValuePlan& p = plan_.values[v];
    const PlacedValue& value = program_.values[v];
    if (p.storage == Storage::kBlock) values_[v] = Tensor::wrap(value.dtype, p.shape, nullptr);
    if (p.storage != Storage::kFixed) continue;
    if (value.home == program_.host) {
      values_[v] = *p.known;
      continue;
    }
    auto placed = runtime_.pools[value.home]->allocate_persistent(value.dtype, p.shape);
    if (!placed.ok()) return attach_node(placed.take_status(), graph_.name(value.tensor.node));
    values_[v] = placed.take();
    if (p.known->size_bytes() == 0) continue;
    ASSIGN_OR_RETURN(Gpu * gpu, gpu_of(v));
    if (gpu)
      RETURN_IF_ERROR(gpu->copy_in(values_[v].raw(), p.known->raw(), p.known->size_bytes(), Gpu::Lane::kCompute));
    else
      std::memcpy(values_[v].raw(), p.known->raw(), p.known->size_bytes());
  }
  return ok_status();
}

// The tensors of the block get their addresses, in every step that was prepared without.
void Executor::place_in_blocks(const std::vector<std::byte*>& blocks) {
  for (ValueId v = 0; v < values_.size(); ++v) {
    const ValuePlan& p = plan_.values[v];
    if (p.storage == Storage::kBlock) values_[v].rebind(blocks[program_.values[v].home] + p.offset);
  }
  for (InstructionId id = 0; id < program_.instructions.size(); ++id) {
    const Instruction& s = program_.instructions[id];
    if (plan_.modes[id] != InstructionMode::kDirect) continue;
    for (size_t i = 0; i < s.num_inputs + s.num_outputs; ++i) {
      ValueId v = program_.operands[s.first_operand + i];
      if (plan_.values[v].storage == Storage::kBlock) operands_[s.first_operand + i].rebind(values_[v].raw());
    }
  }
}

Status Executor::make_kernel(InstructionId id) {
  const Instruction& s = program_.instructions[id];
  BoundInstruction& b = bound_[id];
  if (s.kind == InstructionKind::kCopy) {
    ASSIGN_OR_RETURN(b.kernel, make_copy_kernel(s));
    return ok_status();
  }
  const NodeType& type = graph_.type(s.node);
  KernelInit init{graph_.name(s.node),
                  type.op,
                  type.view(),
                  type.input_types,
                  type.output_types,
                  runtime_.variables[s.device].get(),
                  runtime_.seed_of(s.node),
                  type.signature && type.signature->is_stateful ? &runtime_.random.of(s.node) : nullptr};
  auto kernel = on_cuda(s.device) ? make_gpu_kernel(id, init) : cpu_kernel(type)(init);
  if (!kernel.ok()) return attach_node(kernel.take_status(), init.node_name);
  b.kernel = kernel.take();
  return ok_status();
}

void Executor::wire(InstructionId id) {
  const Instruction& s = program_.instructions[id];
  KernelContext& c = bound_[id].context;
  c.inputs_ = {operands_.data() + s.first_operand, s.num_inputs};
  c.outputs_ = {operands_.data() + s.first_operand + s.num_inputs, s.num_outputs};
  c.allocator_ = runtime_.pools[s.device].get();
  c.host_allocator_ = runtime_.pools[program_.host].get();
  if (on_cuda(s.device) && !uses_device_memory(id)) c.allocator_ = c.host_allocator_;
  if (Gpu* gpu = runtime_.gpus[s.device].get()) c.stream_ = gpu->stream();
  c.parallel_ = threads_.parallel;
  c.node_name_ = graph_.name(s.node);
  auto outputs = program_.outputs(s);
  auto inputs = program_.inputs(s);
  for (size_t i = 0; i < inputs.size() && i < 64; ++i) {
    const ValuePlan& in = plan_.values[inputs[i]];
    if (in.storage == Storage::kFixed && !in.varies) c.constant_inputs_ |= uint64_t{1} << i;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (program_.values[outputs[i]].home == program_.host) c.host_outputs_ |= uint64_t{1} << (i < 63 ? i : 63);
  }
  if (plan_.modes[id] != InstructionMode::kDirect) return;
  for (size_t i = 0; i < inputs.size(); ++i) c.inputs_[i] = values_[inputs[i]];
  for (size_t i = 0; i < outputs.size(); ++i) c.outputs_[i] = values_[outputs[i]];
}

Status Executor::prepare_kernel(InstructionId id) {
  BoundInstruction& b = bound_[id];
  b.prepared = true;
  return b.kernel->prepare(b.context);
}

bool Executor::inputs_known(const Instruction& s) const {
  const NodeType& type = graph_.type(s.node);
  auto inputs = program_.inputs(s);
  return type.def && type.def->value_input_list().empty() && std::all_of(inputs.begin(), inputs.end(), [&](ValueId v) {
           return v != kNoValue && plan_.values[v].shape.fully_known();
         });
}

// Steps whose inputs are found anew each time (variables, mostly) prepare when they run, but shapes are known by now,
// and a kernel's workspace hangs on nothing else. On a GPU that goes for outputs that only their elements size, too,
// and for updates of variables, whose handles are not there yet.
void Executor::rehearse(InstructionId id) {
  const Instruction& s = program_.instructions[id];
  if (plan_.modes[id] == InstructionMode::kDynamic &&
      !(s.kind == InstructionKind::kNode && on_cuda(s.device) && inputs_known(s)))
    return;
  if (s.kind != InstructionKind::kNode || s.may_be_dead || s.in_loop) return;
  const NodeType& type = graph_.type(s.node);
  if (!type.signature || (type.signature->is_stateful && !on_cuda(s.device))) return;
  KernelContext& c = bound_[id].context;
  bool numbers = true;
  auto show = [&](std::span<const ValueId> values, std::span<const DType> types, std::span<Tensor> operands) {
    for (size_t i = 0; i < values.size(); ++i) {
      const bool handle = is_ref(types[i]) || types[i] == DType::kResource;
      if (handle && on_cuda(s.device)) continue;
      numbers &= !handle && kNumbersAndBool.has(types[i]);
      const Shape& shape = plan_.values[values[i]].shape;
      if (numbers)
        operands[i] = values_[values[i]].valid()
                          ? values_[values[i]]
                          : Tensor::wrap(types[i], shape.fully_known() ? shape : Shape{0}, nullptr);
    }
  };
  show(program_.inputs(s), type.input_types, c.inputs_);
  show(program_.outputs(s), type.output_types, c.outputs_);
  bound_[id].rehearsed = numbers && bound_[id].kernel->prepare(c).ok();
  std::fill(c.inputs_.begin(), c.inputs_.end(), Tensor());
  std::fill(c.outputs_.begin(), c.outputs_.end(), Tensor());
}

// Scratch of as many steps as run at one time, if the largest of them meet.
void Executor::count_workspaces() {
  std::vector<std::vector<int64_t>> scratch(devices_.size()), needed(devices_.size());
  for (InstructionId id = 0; id < program_.instructions.size(); ++id) {
    if (!bound_[id].kernel || !(bound_[id].prepared || bound_[id].rehearsed)) continue;
    const Workspace w = bound_[id].kernel->workspace();
    const DeviceId d = program_.instructions[id].device;
    plan_.devices[d].kept += w.kept;
    if (w.scratch > 0) scratch[d].push_back(w.scratch);
    if (w.scratch > 0 && !bound_[id].gives_way) needed[d].push_back(w.scratch);
  }
  const size_t at_once = schedule_ ? static_cast<size_t>(threads_.inter_op) : 1;
  auto largest = [&](std::vector<int64_t>& sizes) {
    std::sort(sizes.begin(), sizes.end(), std::greater<>());
    return std::accumulate(sizes.begin(), sizes.begin() + static_cast<ptrdiff_t>(std::min(at_once, sizes.size())),
                           int64_t{0});
  };
  for (DeviceId d = 0; d < devices_.size(); ++d) {
    plan_.devices[d].scratch = largest(scratch[d]);
    plan_.devices[d].optional = plan_.devices[d].scratch - largest(needed[d]);
  }
  count_recorded_scratch();
}

// After the last thread has stopped: what is live does not change any more.
Status Executor::with_live_set(Status status) const {
  InstructionId at = exhausted_.exchange(kNoInstruction);
  if (status.code() != Code::kResourceExhausted || at == kNoInstruction) return status;
  return resource_exhausted(status.message() + live_set_text(graph_, program_, plan_, runtime_, at, values_));
}

Status Executor::failed(Status status, InstructionId id) const {
  if (status.code() == Code::kResourceExhausted) {
    InstructionId none = kNoInstruction;
    exhausted_.compare_exchange_strong(none, id);
  }
  if (status.ok() || status.code() == Code::kCancelled || status.code() == Code::kDeadlineExceeded) return status;
  return attach_node(std::move(status), graph_.name(program_.instructions[id].node));
}

}  // namespace emplace
