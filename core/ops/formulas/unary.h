/// Functions of one number: signs, roots, reciprocals, rounding to integers.
#pragma once

#include <cmath>
#include <limits>

#include "core/ops/kit/formula.h"

namespace EMPLACE_FORMULAS::fn {

struct Abs {
  template <class T>
  EMPLACE_INLINE static T apply(T x) {
    if constexpr (std::is_integral_v<T>)
      return x < 0 ? subtract(T(0), x) : x;
    else
      return std::fabs(x);
  }
};
struct Neg {
  template <class T>
  EMPLACE_INLINE static T apply(T x) {
    if constexpr (std::is_integral_v<T>)
      return subtract(T(0), x);
    else
      return -x;
  }
};
struct Conj {
  template <class T>
  EMPLACE_INLINE static T apply(T x) {
    return conjugate(x);
  }
};
/// NaN stays; so do denormals that count as zero, but in double only: as TensorFlow has it.
struct Sign {
  template <class T>
  EMPLACE_INLINE static T apply(T x) {
    if constexpr (kIsComplex<T>)
      return x == T(0) ? T(0) : x / magnitude(x);
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>((x > 0) - (x < 0));
    else if constexpr (std::is_same_v<T, double>)
      return std::fabs(x) > 0 ? std::copysign(T(1), x) : std::fabs(x);
    else
      return x > 0 ? T(1) : x < 0 ? T(-1) : x != x ? x : T(0);
  }
};

#define EMPLACE_FORMULA(Name, Out, expression) \
  struct Name {                                \
    template <class T>                         \
    EMPLACE_INLINE static Out apply(T x) {     \
      return expression;                       \
    }                                          \
  };
EMPLACE_FORMULA(Square, T, multiply(x, x))
EMPLACE_FORMULA(Sqrt, T, std::sqrt(x))
EMPLACE_FORMULA(Rsqrt, T, T(1) / std::sqrt(x))
EMPLACE_FORMULA(Reciprocal, T, divide(T(1), x))
EMPLACE_FORMULA(Floor, T, std::floor(x))
EMPLACE_FORMULA(Ceil, T, std::ceil(x))
EMPLACE_FORMULA(Rint, T, std::rint(x))  // halfway cases to even: the rounding mode is never changed
EMPLACE_FORMULA(IsNan, bool, x != x)
EMPLACE_FORMULA(IsInf, bool, std::fabs(x) == std::numeric_limits<T>::infinity())
EMPLACE_FORMULA(IsFinite, bool, std::fabs(x) < std::numeric_limits<T>::infinity())
#undef EMPLACE_FORMULA

/// What TensorFlow 2.21 answers for every integer.
struct RoundInteger {
  template <class T>
  EMPLACE_INLINE static T apply(T) {
    return 0;
  }
};

}  // namespace EMPLACE_FORMULAS::fn
