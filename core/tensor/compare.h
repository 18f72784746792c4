/// A result against a reference, for --expect.
#pragma once

#include "core/base/status.h"
#include "core/tensor/tensor.h"

namespace emplace {

/// OK if dtype and shape are equal and every element is: floating-point and complex numbers within
/// atol + rtol * |expected| (NaN equals NaN, infinities equal themselves), all others exactly. Else
/// FailedPrecondition: how many differ, the first of them, and the largest differences.
Status compare(const Tensor& found, const Tensor& expected, double rtol, double atol);

}  // namespace emplace
