/// Sums, differences, products, maxima and minima.
#pragma once

#include "cuda/arithmetic.h"
#ifndef __CUDACC_RTC__
#include "cuda/kernel_table.h"
#endif

namespace emplace::cuda::fn {

struct Add {
  template <class T>
  EMPLACE_HD static T apply(T a, T b) {
    return add(a, b);
  }
};
struct Sub {
  template <class T>
  EMPLACE_HD static T apply(T a, T b) {
    return subtract(a, b);
  }
};
struct Mul {
  template <class T>
  EMPLACE_HD static T apply(T a, T b) {
    return multiply(a, b);
  }
};
struct SquaredDifference {
  template <class T>
  EMPLACE_HD static Wide<T> apply_as(Wide<T> a, Wide<T> b) {
    const Wide<T> difference = rounded<T>(subtract(a, b));
    return multiply(difference, difference);
  }
};
/// Maximum and Minimum.
struct Extreme {
  bool largest;

  EMPLACE_HOST_ONLY(static Extreme of(const KernelInit& init) { return {init.op == "Maximum"}; })
  template <class T>
  EMPLACE_HD T apply(T a, T b) const {
    return largest ? maximum(a, b) : minimum(a, b);
  }
};
struct Clip {
  template <class T>
  EMPLACE_HD static T apply(T x, T low, T high) {
    const T below = high < x ? high : x;
    return below < low ? low : below;
  }
  EMPLACE_HOST_ONLY(static Status check(const KernelContext& c) {
    for (int i = 1; i < 3; ++i) {
      const Shape& bound = c.input(i).shape();
      if (bound.rank() != 0 && bound != c.input(0).shape()) {
        return invalid_argument(
            "clip_value_min and clip_value_max must be either of the same shape as input, or a scalar. ");
      }
    }
    return ok_status();
  })
};

}  // namespace emplace::cuda::fn
