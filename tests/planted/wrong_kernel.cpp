// emplace with a wrong kernel planted, which `emplace compare` and `emplace reduce` have to find (golden
// observe/planted): WRONG_KERNEL names an op. Of an odd number of floats the last one that it makes is 1,000 ulp
// off, as where the tail of a loop of several at a time is wrong, and not with EMPLACE_ISA=base, which has no such
// loop. The linker hands every call of OpDef::cpu_kernel() to us (--wrap).
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "core/op/kernel_attr.h"
#include "core/op/op_def.h"
#include "core/op/op_table.h"
#include "core/ops/kit/isa.h"

extern "C" emplace::KernelMaker __real__ZNK7emplace5OpDef10cpu_kernelENS_5DTypeE(const emplace::OpDef*, emplace::DType);

namespace emplace {
namespace {

class WrongKernel final : public Kernel {
 public:
  explicit WrongKernel(std::unique_ptr<Kernel> kernel) : kernel_(std::move(kernel)) {}
  Status prepare(KernelContext& c) override { return kernel_->prepare(c); }
  Workspace workspace() const override { return kernel_->workspace(); }
  Status run(KernelContext& c) override {
    RETURN_IF_ERROR(kernel_->run(c));
    const Tensor& out = c.output(0);
    if (isa() == Isa::kBase || out.dtype() != DType::kFloat || out.num_elements() % 2 == 0) return ok_status();
    constexpr uint32_t kUlps = 1000;
    float* last = static_cast<float*>(out.raw()) + out.num_elements() - 1;
    uint32_t bits = 0;
    std::memcpy(&bits, last, sizeof bits);
    bits += kUlps;
    std::memcpy(last, &bits, sizeof bits);
    return ok_status();
  }

 private:
  std::unique_ptr<Kernel> kernel_;
};

Result<std::unique_ptr<Kernel>> make_wrong(const KernelInit& init) {
  const OpDef* def = OpLibrary::find(init.op);
  static thread_local OpTable ops;
  const std::string_view attr = kernel_attr(*ops.find(init.op), def);
  const DType type = attr.empty() ? DType::kInvalid : init.attrs.type(attr);
  ASSIGN_OR_RETURN(auto kernel, __real__ZNK7emplace5OpDef10cpu_kernelENS_5DTypeE(def, type)(init));
  return std::unique_ptr<Kernel>(std::make_unique<WrongKernel>(std::move(kernel)));
}

}  // namespace
}  // namespace emplace

extern "C" emplace::KernelMaker __wrap__ZNK7emplace5OpDef10cpu_kernelENS_5DTypeE(const emplace::OpDef* def,
                                                                                 emplace::DType type) {
  static const char* const kPlanted = std::getenv("WRONG_KERNEL");
  const emplace::KernelMaker right = __real__ZNK7emplace5OpDef10cpu_kernelENS_5DTypeE(def, type);
  return right && kPlanted && def->name() == kPlanted ? emplace::make_wrong : right;
}
