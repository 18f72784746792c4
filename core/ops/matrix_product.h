/// Matrix multiplication of row-major matrices, for every number type: the inner function of MatMul and BatchMatMul.
#pragma once

#include <cstdint>

#include "core/op/kernel.h"

namespace emplace {

/// One product out[m,n] = op(a)[m,k] * op(b)[k,n]; op() is the stored matrix, transposed, or transposed and conjugated.
struct ProductShape {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  bool conjugate_a = false, conjugate_b = false;  // complex types only
};

/// All three matrices have elements of `type`. An empty sum (k = 0) is zero. Splits its work with c.parallel_for().
/// REQUIRES: type among the numbers that MatMul has kernels for.
Status matrix_product(KernelContext& c, DType type, const ProductShape& shape, const void* a, const void* b, void* out);

}  // namespace emplace
