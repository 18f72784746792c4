/// Exponential, logarithmic, circular and hyperbolic functions.
#pragma once

#include <cmath>
#include <limits>

#include "core/ops/kit/formula.h"

namespace EMPLACE_FORMULAS::fn {

#define EMPLACE_FORMULA(Name, expression) \
  struct Name {                           \
    template <class T>                    \
    EMPLACE_INLINE static T apply(T x) {  \
      return expression;                  \
    }                                     \
  };
EMPLACE_FORMULA(Exp, exp_of(x))
EMPLACE_FORMULA(Expm1, expm1_of(x))
EMPLACE_FORMULA(Log, log_of(x))
EMPLACE_FORMULA(Log1p, log1p_of(x))
EMPLACE_FORMULA(Tanh, tanh_of(x))
EMPLACE_FORMULA(Erf, erf_of(x))
EMPLACE_FORMULA(Erfc, std::erfc(x))
EMPLACE_FORMULA(Sin, sin_of(x))
EMPLACE_FORMULA(Cos, cos_of(x))
EMPLACE_FORMULA(Tan, tan_of(x))
EMPLACE_FORMULA(Sinh, sinh_of(x))
EMPLACE_FORMULA(Cosh, cosh_of(x))
EMPLACE_FORMULA(Asin, std::asin(x))
EMPLACE_FORMULA(Acos, std::acos(x))
EMPLACE_FORMULA(Atan, std::atan(x))
EMPLACE_FORMULA(Asinh, std::asinh(x))
EMPLACE_FORMULA(Acosh, std::acosh(x))
EMPLACE_FORMULA(Atanh, std::atanh(x))
#undef EMPLACE_FORMULA

struct Sigmoid : RoundsEachStep {
  template <class T>
  EMPLACE_INLINE static T apply(T x) {
    if constexpr (kIsHalf<T>) {
      const T power = exp_of(x);
      return static_cast<float>(power) == std::numeric_limits<float>::infinity() ? T(1) : power / (T(1) + power);
    } else {
      return sigmoid_of(x);
    }
  }
};

}  // namespace EMPLACE_FORMULAS::fn
