#include "core/op/kernel.h"

namespace emplace {

Status KernelContext::allocate_output(int i, const Shape& shape) {
  ASSIGN_OR_RETURN(output(i), allocator_->allocate(output(i).dtype(), shape));
  return ok_status();
}

}  // namespace emplace
