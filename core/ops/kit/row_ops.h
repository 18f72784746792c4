/// One row into another, element by element: out[i] += in[i] and its like for every number type, chosen once instead
/// of per row.
#pragma once

#include "core/base/dtype.h"

namespace emplace {

using RowOp = void (*)(void* out, const void* in, int64_t n);

/// Integers wrap; the halves are computed in float and rounded once. REQUIRES: `t` is in kNumbers.
RowOp row_add(DType t);
RowOp row_subtract(DType t);
RowOp row_multiply(DType t);
/// in[i] where either is NaN, so that the next row replaces a NaN (as in TensorFlow). REQUIRES: `t` is in kRealNumbers.
RowOp row_maximum(DType t);
RowOp row_minimum(DType t);

}  // namespace emplace
