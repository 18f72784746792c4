// emplace, but with the plug-in's kernels, on the stand-in of the CUDA runtime, wherever there is one in place of the
// CPU's: what judges the CPU's kernels judges these (scripts/op-cases, scripts/golden). The linker hands every call of
// OpDef::cpu_kernel() to us (--wrap).
#include <cuda_runtime.h>

#include "core/op/kernel_attr.h"
#include "core/op/op_def.h"
#include "core/op/op_table.h"
#include "cuda/kernel_table.h"

extern "C" emplace::KernelMaker __real__ZNK7emplace5OpDef10cpu_kernelENS_5DTypeE(const emplace::OpDef*, emplace::DType);

namespace emplace::cuda {
namespace {

cudaStream_t stream() {
  static const cudaStream_t kStream = [] {
    cudaStream_t made = nullptr;
    (void)cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking, 0);
    return made;
  }();
  return kStream;
}

class OnStandin final : public Kernel {
 public:
  explicit OnStandin(std::unique_ptr<Kernel> kernel) : kernel_(std::move(kernel)) {}
  Status prepare(KernelContext& c) override {
    c.stream_ = stream();
    return kernel_->prepare(c);
  }
  Status run(KernelContext& c) override {
    c.stream_ = stream();
    return kernel_->run(c);
  }

 private:
  std::unique_ptr<Kernel> kernel_;
};

Result<std::unique_ptr<Kernel>> make_on_standin(const KernelInit& init) {
  const OpDef* def = OpLibrary::find(init.op);
  static thread_local OpTable ops;
  const std::string_view attr = kernel_attr(*ops.find(init.op), def);
  const DType type = attr.empty() ? DType::kInvalid : init.attrs.type(attr);
  KernelInit gpu = init;
  gpu.cpu_maker = __real__ZNK7emplace5OpDef10cpu_kernelENS_5DTypeE(def, type);
  ASSIGN_OR_RETURN(auto kernel, kernel_table().find(init.op, type)->maker(gpu));
  return std::unique_ptr<Kernel>(std::make_unique<OnStandin>(std::move(kernel)));
}

}  // namespace
}  // namespace emplace::cuda

extern "C" emplace::KernelMaker __wrap__ZNK7emplace5OpDef10cpu_kernelENS_5DTypeE(const emplace::OpDef* def,
                                                                                 emplace::DType type) {
  const auto* entry = emplace::cuda::kernel_table().find(def->name(), type);
  emplace::KernelMaker cpu = __real__ZNK7emplace5OpDef10cpu_kernelENS_5DTypeE(def, type);
  return cpu && entry && entry->maker ? emplace::cuda::make_on_standin : cpu;
}
