#include "core/run/make_kernel.h"

#include <algorithm>
#include <optional>

#include "core/base/cat.h"
#include "core/graph/node_kernel.h"
#include "core/partition/meetings.h"
#include "core/plan/blamed_node.h"
#include "core/run/copy_kernel.h"
#include "core/run/gpu_kernels.h"
#include "core/run/text_kernel.h"

namespace emplace {
namespace {

void count_texts(std::unique_ptr<Kernel>& kernel) { kernel = std::make_unique<TextKernel>(std::move(kernel)); }

bool is_text(DType type) { return base_type(type) == DType::kString; }

/// Of a node that takes strings, or makes some.
bool handles_texts(const NodeType& type) {
  return std::any_of(type.output_types.begin(), type.output_types.end(), is_text) ||
         std::any_of(type.input_types.begin(), type.input_types.end(), is_text);
}

Status make_copy_kernel(PreparedProgram& p, InstructionId id) {
  const Instruction& s = p.program.instructions[id];
  BoundInstruction& b = p.bound[id];
  const ValueId from = p.program.inputs(s)[0], to = p.program.outputs(s)[0];
  ASSIGN_OR_RETURN(Gpu * source, p.gpu_of(from));
  ASSIGN_OR_RETURN(Gpu * target, p.gpu_of(to));
  if (source || target) {
    auto copy = std::make_unique<GpuCopyKernel>(source, target);
    b.gpu_copy = copy.get();
    b.kernel = std::move(copy);
    return ok_status();
  }
  const PlacedValue& value = p.program.values[from];
  const bool shares = value.home == p.program.values[to].home && !is_ref(value.dtype);
  b.kernel = std::make_unique<CopyKernel>(shares, p.runtime.copy_ns);
  if (is_text(value.dtype) || value.dtype == DType::kVariant) count_texts(b.kernel);
  return ok_status();
}

/// Of a collective among tasks.
std::optional<CollectiveSeat> seat_of(const PreparedProgram& p, InstructionId id) {
  const std::vector<MeetingMember>& all = p.program.members;
  const auto member = std::find_if(all.begin(), all.end(), [&](const MeetingMember& m) { return m.instruction == id; });
  if (member == all.end()) return {};
  const Graph& g = p.file.graph;
  const NodeId node = p.program.instructions[id].node;
  CollectiveSeat seat{p.runtime.collective_id, member->rank, static_cast<int>(g.attrs(node).integer("num_devices")), 0};
  for (const MeetingMember& m : all)
    seat.here += meeting_of(g, p.program.instructions[m.instruction].node) == meeting_of(g, node);
  return seat;
}

Status make_gpu_kernel(PreparedProgram& p, InstructionId id, KernelInit init) {
  const Instruction& s = p.program.instructions[id];
  BoundInstruction& b = p.bound[id];
  const NodeType& type = p.file.graph.type(s.node);
  const KernelMaker cpu_maker = cpu_kernel(type);
  if (!uses_device_memory(p, id)) {
    ASSIGN_OR_RETURN(b.kernel, cpu_maker(init));
    return ok_status();
  }
  ASSIGN_OR_RETURN(Gpu * gpu, p.use_gpu(s.device));
  const GpuKernel found = p.devices.gpus->kernel(type.op, kernel_type(type));
  if (!found.exists) {
    return unimplemented(
        cat("the CUDA plug-in has no kernel of ", type.op, "(", dtype_tf_name(kernel_type(type)), ")"));
  }
  init.gpu = gpu->kernel_state();
  if (!found.maker) {
    ASSIGN_OR_RETURN(b.kernel, cpu_maker(init));
    return ok_status();
  }
  init.cpu_maker = cpu_maker;
  const std::optional<CollectiveSeat> seat = seat_of(p, id);
  ASSIGN_OR_RETURN(auto kernel, seat ? p.devices.gpus->member_kernel(init, *seat) : found.maker(init));
  b.records = found.records;
  b.gives_way = found.gives_way && !p.runtime.gpu_options.deterministic;
  auto node = std::make_unique<GpuNodeKernel>(std::move(kernel), *gpu, p.runtime.gpu_options.sync_every_node);
  b.gpu_node = node.get();
  b.kernel = std::move(node);
  return ok_status();
}

}  // namespace

bool uses_device_memory(const PreparedProgram& p, InstructionId id) {
  const Instruction& s = p.program.instructions[id];
  if (s.kind == InstructionKind::kNode && p.file.graph.type(s.node).def->traits().writes_variable) return true;
  auto there = [&](ValueId v) { return p.program.values[v].home == s.device; };
  auto inputs = p.program.inputs(s), outputs = p.program.outputs(s);
  return std::any_of(inputs.begin(), inputs.end(), there) || std::any_of(outputs.begin(), outputs.end(), there);
}

Status make_kernel(PreparedProgram& p, InstructionId id) {
  const Instruction& s = p.program.instructions[id];
  if (s.kind == InstructionKind::kCopy) return make_copy_kernel(p, id);
  if (is_transfer(s)) return ok_status();
  const NodeType& type = p.file.graph.type(s.node);
  const KernelInit init{p.file.graph.name(s.node),
                        type.op,
                        type.view(),
                        type.input_types,
                        type.output_types,
                        p.runtime.variables[s.device].get(),
                        p.runtime.seed_of(s.node),
                        type.signature && type.signature->is_stateful ? &p.runtime.random.of(s.node) : nullptr,
                        p.runtime.checkpoints};
  BoundInstruction& b = p.bound[id];
  if (p.on_cuda(s.device)) {
    RETURN_IF_ERROR(attach_node(make_gpu_kernel(p, id, init), init.node_name));
  } else {
    auto kernel = cpu_kernel(type)(init);
    if (!kernel.ok()) return attach_node(kernel.take_status(), init.node_name);
    b.kernel = kernel.take();
  }
  if (!b.gpu_node && handles_texts(type)) count_texts(b.kernel);
  return ok_status();
}

}  // namespace emplace
