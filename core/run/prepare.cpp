#include "core/run/prepare.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "core/base/stop.h"
#include "core/plan/blamed_node.h"
#include "core/plan/plain_loops.h"
#include "core/plan/settle.h"
#include "core/plan/shared_reads.h"
#include "core/plan/undone_transposes.h"
#include "core/run/binding.h"
#include "core/run/finite_check.h"
#include "core/run/make_kernel.h"

namespace emplace {
namespace {

Status place_constants(PreparedProgram& p) {
  for (ValueId v = 0; v < p.values.size(); ++v) {
    const ValuePlan& plan = p.plan.values[v];
    const PlacedValue& value = p.program.values[v];
    if (plan.storage == Storage::kBlock) p.values[v] = Tensor::wrap(value.dtype, plan.shape, nullptr);
    if (plan.storage != Storage::kFixed) continue;
    if (value.home == p.program.host) {
      p.values[v] = *plan.known;
      continue;
    }
    auto placed = p.runtime.pools[value.home]->allocate_persistent(value.dtype, plan.shape);
    if (!placed.ok()) return attach_node(placed.take_status(), p.file.graph.name(value.tensor.node));
    p.values[v] = placed.take();
    const size_t bytes = plan.known->size_bytes();
    if (bytes == 0) continue;
    ASSIGN_OR_RETURN(Gpu * gpu, p.gpu_of(v));
    if (!gpu) {
      std::memcpy(p.values[v].raw(), plan.known->raw(), bytes);
      continue;
    }
    RETURN_IF_ERROR(
        gpu->copy_in(p.values[v].raw(), plan.known->raw(), bytes, Gpu::Lane::kCompute, plan.known->buffer()).status());
  }
  return ok_status();
}

// The instruction that computes what the program's guard hands on.
InstructionId guarded_instruction(const PreparedProgram& p) {
  InstructionId id = p.program.guard;
  while (id != kNoInstruction && p.plan.modes[id] == InstructionMode::kSkip) {
    const Instruction& s = p.program.instructions[id];
    id = s.num_inputs == 0 ? kNoInstruction : p.program.values[p.program.inputs(s)[0]].producer;
  }
  // On a GPU the kernel has only been enqueued: its result may not exist yet.
  return id != kNoInstruction && p.on_cuda(p.program.instructions[id].device) ? kNoInstruction : id;
}

// The values are looked at when the kernel returns: such a copy must not run beside other work.
void check_result(BoundInstruction& b) {
  b.kernel = std::make_unique<FiniteCheck>(std::move(b.kernel));
  b.gpu_copy = nullptr;
}

bool inputs_known(const PreparedProgram& p, const Instruction& s) {
  const NodeType& type = p.file.graph.type(s.node);
  auto inputs = p.program.inputs(s);
  return type.def && type.def->value_input_list().empty() && std::all_of(inputs.begin(), inputs.end(), [&](ValueId v) {
           return v != kNoValue && p.plan.values[v].shape.fully_known();
         });
}

// Tensors of these shapes, without bytes where they have no place yet. False: the kernel needs more than shapes.
bool show_shapes(const PreparedProgram& p, bool on_cuda, std::span<const ValueId> values, std::span<const DType> types,
                 std::span<Tensor> operands) {
  for (size_t i = 0; i < values.size(); ++i) {
    const bool handle = is_ref(types[i]) || types[i] == DType::kResource;
    if (handle && on_cuda) continue;
    if (handle || !kNumbersAndBool.has(types[i])) return false;
    const Tensor& there = p.values[values[i]];
    const Shape& shape = p.plan.values[values[i]].shape;
    operands[i] = there.valid() ? there : Tensor::wrap(types[i], shape.fully_known() ? shape : Shape{0}, nullptr);
  }
  return true;
}

// Instructions whose inputs are found anew each time (variables, mostly) prepare when they run, but shapes are known by
// now, and a kernel's workspace hangs on nothing else. On a GPU that goes for outputs that only their elements size,
// too, and for updates of variables, whose handles are not there yet.
void rehearse(PreparedProgram& p, InstructionId id) {
  const Instruction& s = p.program.instructions[id];
  if (s.kind != InstructionKind::kNode || s.may_be_dead || s.in_loop) return;
  const bool on_cuda = p.on_cuda(s.device);
  if (p.plan.modes[id] == InstructionMode::kDynamic && !(on_cuda && inputs_known(p, s))) return;
  const NodeType& type = p.file.graph.type(s.node);
  if (!type.signature || (type.signature->is_stateful && !on_cuda)) return;
  BoundInstruction& b = p.bound[id];
  KernelContext& c = b.context;
  const bool numbers = show_shapes(p, on_cuda, p.program.inputs(s), type.input_types, c.inputs_) &&
                       show_shapes(p, on_cuda, p.program.outputs(s), type.output_types, c.outputs_);
  b.rehearsed = numbers && b.kernel->prepare(c).ok();
  std::fill(c.inputs_.begin(), c.inputs_.end(), Tensor());
  std::fill(c.outputs_.begin(), c.outputs_.end(), Tensor());
}

// Libraries that these ops need take long to load: that begins before the first GPU is opened.
void announce_ops(const PreparedProgram& p) {
  if (!p.devices.gpus) return;
  for (const Instruction& s : p.program.instructions) {
    if (s.kind == InstructionKind::kNode && p.on_cuda(s.device)) p.devices.gpus->will_run(p.file.graph.type(s.node).op);
  }
}

}  // namespace

Status prepare(PreparedProgram& p, const std::vector<Tensor>& feeds) {
  const Constants constants = p.runtime.observer ? Constants::kInEachStep : Constants::kOnce;
  ASSIGN_OR_RETURN(p.plan, settle(p.file, p.devices, p.program, feeds, constants, p.plain_loops));
  if (!p.runtime.observer) share_reads(p.file.graph, p.program, p.plan);
  if (!p.runtime.observer || !p.runtime.observer->needs_values()) share_undone(p.file.graph, p.program, p.plan);
  name_loop_values(p.file.graph, p.program, p.plan, p.plain_loops);
  announce_ops(p);
  RETURN_IF_ERROR(place_constants(p));
  const InstructionId guarded = guarded_instruction(p);
  OccasionalLook look;
  for (InstructionId id = 0; id < p.program.instructions.size(); ++id) {
    if (look.stop_requested()) return stop_status();
    if (p.program.instructions[id].kind == InstructionKind::kLoop || p.plan.modes[id] == InstructionMode::kSkip)
      continue;
    RETURN_IF_ERROR(make_kernel(p, id));
    if (id == guarded) check_result(p.bound[id]);
    bind_context(p, id);
    if (p.plan.modes[id] == InstructionMode::kDirect)
      RETURN_IF_ERROR(p.blame(p.prepare_kernel(id), id));
    else
      rehearse(p, id);
  }
  return ok_status();
}

void count_workspaces(PreparedProgram& p, size_t at_once) {
  std::vector<std::vector<int64_t>> scratch(p.devices.size()), needed(p.devices.size());
  for (InstructionId id = 0; id < p.program.instructions.size(); ++id) {
    const BoundInstruction& b = p.bound[id];
    if (!b.kernel || !(b.prepared || b.rehearsed)) continue;
    const Workspace w = b.kernel->workspace();
    const DeviceId d = p.program.instructions[id].device;
    p.plan.devices[d].kept += w.kept;
    if (w.scratch > 0) scratch[d].push_back(w.scratch);
    if (w.scratch > 0 && !b.gives_way) needed[d].push_back(w.scratch);
  }
  auto largest = [&](std::vector<int64_t>& sizes) {
    std::sort(sizes.begin(), sizes.end(), std::greater<>());
    return std::accumulate(sizes.begin(), sizes.begin() + static_cast<ptrdiff_t>(std::min(at_once, sizes.size())),
                           int64_t{0});
  };
  for (DeviceId d = 0; d < p.devices.size(); ++d) {
    p.plan.devices[d].scratch = largest(scratch[d]);
    p.plan.devices[d].optional = p.plan.devices[d].scratch - largest(needed[d]);
  }
}

}  // namespace emplace
