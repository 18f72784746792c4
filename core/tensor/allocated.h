/// allocated(): a tensor, where no Status can be given back.
#pragma once

#include "core/tensor/tensor.h"

namespace emplace {

/// As Tensor::allocate(). What has no room is a HeapOverLimit, with which the command ends: not for what steps run.
Tensor allocated(DType dtype, const Shape& shape);

}  // namespace emplace
