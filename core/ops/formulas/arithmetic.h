/// Sums, differences, products, maxima and minima.
#pragma once

#include "core/ops/kit/formula.h"

namespace EMPLACE_FORMULAS::fn {

struct Add {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    return add(a, b);
  }
};
struct Sub {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    return subtract(a, b);
  }
};
struct Mul {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    return multiply(a, b);
  }
};
struct SquaredDifference : RoundsEachStep {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    const T difference = subtract(a, b);
    if constexpr (kIsComplex<T>)
      return conjugate(difference) * difference;
    else
      return multiply(difference, difference);
  }
};
struct Maximum {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    return maximum(a, b);
  }
};
struct Minimum {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    return minimum(a, b);
  }
};
/// The lower bound has the last word where it lies above the other; a bound that is NaN is none.
struct Clip {
  template <class T>
  EMPLACE_INLINE static T apply(T x, T low, T high) {
    const T below = high < x ? high : x;
    return below < low ? low : below;
  }
};

}  // namespace EMPLACE_FORMULAS::fn
