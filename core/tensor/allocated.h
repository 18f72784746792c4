/// allocated(): a tensor, where no Status can be given back.
#pragma once

#include "core/tensor/tensor.h"

namespace emplace {

/// As Tensor::allocate(), but where there is no room it throws HeapOverLimit, with which the command ends. Not for
/// kernels: a step that fails gives back a Status.
Tensor allocated(DType dtype, const Shape& shape);

}  // namespace emplace
