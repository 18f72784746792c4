/// Softmax of rows, and what the cross entropies need of it.
#pragma once

#include <cstdint>

namespace emplace {

/// y = exp(x - max) and the sum of that; returns the sum, and max by reference. n > 0. In place is fine.
using ExpRowFloat = float (*)(const float* x, float* y, int64_t n, float* max);
using ExpRowDouble = double (*)(const double* x, double* y, int64_t n, double* max);

/// The clone for this processor.
ExpRowFloat exp_row_float();
ExpRowDouble exp_row_double();

inline ExpRowFloat exp_row(float) { return exp_row_float(); }
inline ExpRowDouble exp_row(double) { return exp_row_double(); }

}  // namespace emplace
