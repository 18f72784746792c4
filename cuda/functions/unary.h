/// Functions of one number: signs, roots, reciprocals, rounding to integers.
#pragma once

#include <cmath>
#include <limits>

#include "cuda/arithmetic.h"
#ifndef __CUDACC_RTC__
#include "cuda/kernel_table.h"
#endif

namespace emplace::cuda::fn {

struct Abs {
  template <class T>
  EMPLACE_HD static T apply(T x) {
    if constexpr (std::is_integral_v<T>)
      return x < 0 ? subtract(T(0), x) : x;
    else
      return std::fabs(x);
  }
};
struct Neg {
  template <class T>
  EMPLACE_HD static T apply(T x) {
    if constexpr (std::is_integral_v<T>)
      return subtract(T(0), x);
    else
      return -x;
  }
};
/// NaN stays.
struct Sign {
  template <class T>
  EMPLACE_HD static T apply(T x) {
    if constexpr (kIsComplex<T>) {
      if (x == T(0)) return T(0);
      const auto size = magnitude(x);
      return {x.re / size, x.im / size};
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>((x > 0) - (x < 0));
    } else if constexpr (std::is_same_v<T, double>) {
      return std::fabs(x) > 0 ? std::copysign(T(1), x) : std::fabs(x);
    } else {
      return x > 0 ? T(1) : x < 0 ? T(-1) : x != x ? x : T(0);
    }
  }
};

#define EMPLACE_FUNCTION(Name, Out, expression) \
  struct Name {                                 \
    template <class T>                          \
    EMPLACE_HD static Out apply(T x) {          \
      return expression;                        \
    }                                           \
  };
EMPLACE_FUNCTION(Square, T, multiply(x, x))
EMPLACE_FUNCTION(Sqrt, T, std::sqrt(x))
EMPLACE_FUNCTION(Rsqrt, T, T(1) / std::sqrt(x))
EMPLACE_FUNCTION(Reciprocal, T, T(1) / x)
EMPLACE_FUNCTION(RoundInteger, T, x* T(0))  // what TensorFlow 2.21 answers for every integer
#undef EMPLACE_FUNCTION

/// Floor, Ceil, and Rint and Round, which take the nearest.
struct RoundTo {
  enum Direction { kDown, kUp, kNearest } direction;

  EMPLACE_HOST_ONLY(static RoundTo of(const KernelInit& init) {
    return {init.op == "Floor" ? kDown : init.op == "Ceil" ? kUp : kNearest};
  })
  template <class T>
  EMPLACE_HD T apply(T x) const {
    return direction == kDown ? std::floor(x) : direction == kUp ? std::ceil(x) : std::rint(x);
  }
};
/// IsNan, IsInf, IsFinite.
struct IsOfKind {
  enum Kind { kNan, kInfinite, kFinite } kind;

  EMPLACE_HOST_ONLY(static IsOfKind of(const KernelInit& init) {
    return {init.op == "IsNan" ? kNan : init.op == "IsInf" ? kInfinite : kFinite};
  })
  template <class T>
  EMPLACE_HD bool apply(T x) const {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    return kind == (x != x ? kNan : std::fabs(x) == kInfinity ? kInfinite : kFinite);
  }
};

}  // namespace emplace::cuda::fn
