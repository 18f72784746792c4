/// Sums into rows: out[i] += in[i] for every number type, chosen once instead of per row.
#pragma once

#include "core/base/dtype.h"

namespace emplace {

using RowOp = void (*)(void* out, const void* in, int64_t n);

/// Integers wrap; the halves are computed in float and rounded once. REQUIRES: `t` is in kNumbers.
RowOp row_add(DType t);
RowOp row_subtract(DType t);

}  // namespace emplace
