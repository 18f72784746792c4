#include "core/op/kernel.h"

#include "core/base/cat.h"

namespace emplace {

Result<Tensor> read_reference(Variable& variable) {
  std::lock_guard lock(variable.mutex);
  if (!variable.value.valid()) {
    return failed_precondition(cat("Attempting to use uninitialized value ", variable.name));
  }
  return variable.value;
}

Status KernelContext::allocate_output(int i, const Shape& shape) {
  bool on_host = (host_outputs_ >> (i < 63 ? i : 63)) & 1;
  ASSIGN_OR_RETURN(output(i), (on_host ? host_allocator_ : allocator_)->allocate(output(i).dtype(), shape));
  return ok_status();
}

}  // namespace emplace
