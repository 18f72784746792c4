/// Sums over all pixels of each channel, for batch normalisation and its gradient. In double, in blocks of pixels that
/// depend on the shape alone, so that any number of threads gives the same bytes.
#pragma once

#include "core/base/parallel.h"
#include "core/ops/nn/norm_layout.h"

namespace emplace {

/// The loops as this processor runs them best.
struct NormSumCode {
  /// Columns of two matrices: sums[k] += a, products[k] += a * (b - shift[k]) over the rows. Moments: a is b - shift.
  struct Columns {
    const float *a, *b;
    int64_t rows, pitch;
    const double* shift;
    double *sums, *products;
  };
  using Add = void (*)(const Columns& c, int64_t cols);
  Add moments = nullptr, gradients = nullptr;
  bool few_rows = false;  // better handles few rows at once
  static NormSumCode of_processor();
};

/// By channel, with d = x - shift: the sums of d and of d * d. T: float, half, bfloat16.
template <class T>
void sum_moments(Parallel& parallel, const NormSumCode& code, const NormLayout& l, const T* x, const double* shift,
                 double* sum, double* squares);

/// By channel: the sums of dy and of dy * (x - shift).
template <class T>
void sum_gradients(Parallel& parallel, const NormSumCode& code, const NormLayout& l, const T* dy, const T* x,
                   const double* shift, double* sum, double* products);

}  // namespace emplace
