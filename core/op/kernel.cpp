#include "core/op/kernel.h"

#include "core/base/cat.h"

namespace emplace {
namespace {

class FunctionKernel final : public Kernel {
 public:
  explicit FunctionKernel(Status (*function)(KernelContext&)) : function_(function) {}
  Status run(KernelContext& c) override { return function_(c); }

 private:
  Status (*const function_)(KernelContext&);
};

}  // namespace

Tensor variable_handle(DType dtype, Variable** variable) { return Tensor::wrap(dtype, Shape{}, variable); }

Result<Tensor> read_reference(Variable& variable) {
  std::lock_guard lock(variable.mutex);
  if (!variable.value.valid()) {
    return failed_precondition(cat("Attempting to use uninitialized value ", variable.name));
  }
  return variable.value;
}

Result<Tensor> Allocator::allocate_persistent(DType dtype, const Shape& shape) { return allocate(dtype, shape); }

Status KernelContext::allocate_output(int i, const Shape& shape) {
  bool on_host = (host_outputs_ >> (i < 63 ? i : 63)) & 1;
  ASSIGN_OR_RETURN(output(i), (on_host ? host_allocator_ : allocator_)->allocate(output(i).dtype(), shape));
  return ok_status();
}

void KernelContext::forward_output(int i, Tensor value) { outputs_[static_cast<size_t>(i)] = std::move(value); }
void KernelContext::mark_dead(int i) { outputs_[static_cast<size_t>(i)] = Tensor(); }

Result<Tensor> KernelContext::allocate_scratch(DType dtype, const Shape& shape) {
  return allocator_->allocate(dtype, shape);
}
Result<Tensor> KernelContext::allocate_persistent(DType dtype, const Shape& shape) {
  return allocator_->allocate_persistent(dtype, shape);
}

Kernel::~Kernel() = default;

Result<std::unique_ptr<Kernel>> owned_kernel(Kernel* made) { return std::unique_ptr<Kernel>(made); }
Result<std::unique_ptr<Kernel>> kernel_of_function(Status (*run)(KernelContext&)) {
  return owned_kernel(new FunctionKernel(run));
}

}  // namespace emplace
