/// Conversions between dtypes that keep what kind of number it is.
#pragma once

#include "core/tensor/tensor.h"

namespace emplace {

/// `t` as `dtype`: floating-point to floating-point or complex, integers to integers that hold them all or to
/// floating-point. InvalidArgument for anything else.
Result<Tensor> convert_keeping_kind(const Tensor& t, DType dtype);

}  // namespace emplace
