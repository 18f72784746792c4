#include "core/tensor/allocated.h"

#include "core/base/heap_limit.h"

namespace emplace {

Tensor allocated(DType dtype, const Shape& shape) {
  Result<Tensor> made = Tensor::allocate(dtype, shape);
  if (!made.ok()) throw HeapOverLimit(made.status().message());
  return made.take();
}

}  // namespace emplace
