// What the executor does differently for devices of kind kCuda: kernels from the plug-in, copies through its lanes.
#include <algorithm>

#include "core/base/cat.h"
#include "core/graph/node_kernel.h"
#include "core/run/copy_kernel.h"
#include "core/run/executor.h"
#include "core/run/gpu_kernels.h"

namespace emplace {

Result<Gpu*> Executor::use_gpu(DeviceId device) {
  auto at = std::lower_bound(gpus_.begin(), gpus_.end(), device);
  if (at == gpus_.end() || *at != device) gpus_.insert(at, device);
  return runtime_.gpu(device);
}

Result<Gpu*> Executor::gpu_of(ValueId v) {
  const PlacedValue& value = program_.values[v];
  DeviceId home = is_ref(value.dtype) ? value.device : value.home;
  if (!on_cuda(home)) return static_cast<Gpu*>(nullptr);
  return use_gpu(home);
}

Result<std::unique_ptr<Kernel>> Executor::make_copy_kernel(const Instruction& s) {
  ValueId from = program_.inputs(s)[0], to = program_.outputs(s)[0];
  ASSIGN_OR_RETURN(Gpu * source, gpu_of(from));
  ASSIGN_OR_RETURN(Gpu * target, gpu_of(to));
  if (source || target) return std::unique_ptr<Kernel>(std::make_unique<GpuCopyKernel>(source, target));
  bool shares = program_.values[from].home == program_.values[to].home && !is_ref(program_.values[from].dtype);
  return std::unique_ptr<Kernel>(std::make_unique<CopyKernel>(shares, runtime_.copy_ns));
}

bool Executor::uses_device_memory(InstructionId id) const {
  const Instruction& s = program_.instructions[id];
  for (ValueId v : program_.inputs(s)) {
    if (program_.values[v].home == s.device) return true;
  }
  for (ValueId v : program_.outputs(s)) {
    if (program_.values[v].home == s.device) return true;
  }
  return false;
}

// A node with nothing in device memory (shapes, handles of variables) is the CPU's kernel's, as in TensorFlow.
Result<std::unique_ptr<Kernel>> Executor::make_gpu_kernel(InstructionId id, KernelInit init) {
  const Instruction& s = program_.instructions[id];
  const NodeType& type = graph_.type(s.node);
  if (!uses_device_memory(id)) return cpu_kernel(type)(init);
  ASSIGN_OR_RETURN(Gpu * gpu, use_gpu(s.device));
  GpuKernel found = devices_.gpus->kernel(type.op, kernel_type(type));
  if (!found.exists) {
    return unimplemented(
        cat("the CUDA plug-in has no kernel of ", type.op, "(", dtype_tf_name(kernel_type(type)), ")"));
  }
  init.gpu = gpu->kernel_state();
  if (!found.maker) return cpu_kernel(type)(init);
  init.cpu_maker = cpu_kernel(type);
  ASSIGN_OR_RETURN(auto kernel, found.maker(init));
  bound_[id].records = found.records;
  bound_[id].gives_way = found.gives_way && !runtime_.gpu_options.deterministic;
  return std::unique_ptr<Kernel>(
      std::make_unique<GpuNodeKernel>(std::move(kernel), *gpu, runtime_.gpu_options.sync_every_node));
}

}  // namespace emplace
