/// Exponential, logarithmic, circular and hyperbolic functions.
#pragma once

#include <cmath>

#include "cuda/arithmetic.h"

namespace emplace::cuda::fn {

#define EMPLACE_FUNCTION(Name, expression) \
  struct Name {                            \
    template <class T>                     \
    EMPLACE_HD static T apply(T x) {       \
      return expression;                   \
    }                                      \
  };
EMPLACE_FUNCTION(Expm1, std::expm1(x))
EMPLACE_FUNCTION(Log, std::log(x))
EMPLACE_FUNCTION(Log1p, std::log1p(x))
EMPLACE_FUNCTION(Tanh, std::tanh(x))
EMPLACE_FUNCTION(Sigmoid, T(1) / (T(1) + std::exp(-x)))
EMPLACE_FUNCTION(Erf, std::erf(x))
EMPLACE_FUNCTION(Erfc, std::erfc(x))
EMPLACE_FUNCTION(Asin, std::asin(x))
EMPLACE_FUNCTION(Acos, std::acos(x))
EMPLACE_FUNCTION(Atan, std::atan(x))
EMPLACE_FUNCTION(Asinh, std::asinh(x))
EMPLACE_FUNCTION(Acosh, std::acosh(x))
EMPLACE_FUNCTION(Atanh, std::atanh(x))
#undef EMPLACE_FUNCTION

#define EMPLACE_COMPLEX_FUNCTION(Name, function) \
  struct Name {                                  \
    template <class T>                           \
    EMPLACE_HD static T apply(T x) {             \
      if constexpr (kIsComplex<T>)               \
        return function##_of(x);                 \
      else                                       \
        return std::function(x);                 \
    }                                            \
  };
EMPLACE_COMPLEX_FUNCTION(Exp, exp)
EMPLACE_COMPLEX_FUNCTION(Sin, sin)
EMPLACE_COMPLEX_FUNCTION(Cos, cos)
EMPLACE_COMPLEX_FUNCTION(Tan, tan)
EMPLACE_COMPLEX_FUNCTION(Sinh, sinh)
EMPLACE_COMPLEX_FUNCTION(Cosh, cosh)
#undef EMPLACE_COMPLEX_FUNCTION

}  // namespace emplace::cuda::fn
