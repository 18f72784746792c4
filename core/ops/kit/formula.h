/// The words that formulas of elements (core/ops/formulas/) are written in. A formula stands once for CPU and GPU, and
/// is compiled in the namespace EMPLACE_FORMULAS of the side that includes it, whose words it takes: add(), divide(),
/// exp_of(), kIsHalf and so on. The CPU's are these: straight-line forms whose loops vectorise, for halves a rounding
/// per operation. A GPU's kernels define EMPLACE_FORMULAS before, and words of their own.
#pragma once

#ifndef EMPLACE_FORMULAS
#define EMPLACE_FORMULAS emplace

#include "core/ops/kit/vector_math.h"

namespace emplace {

/// Kernels refuse a zero among integers' divisors before they divide.
inline constexpr bool kDivisorsAreChecked = true;

template <class T>
using Unsigned = std::make_unsigned_t<T>;

template <class T>
EMPLACE_INLINE T conjugate(T x) {
  if constexpr (kIsComplex<T>)
    return std::conj(x);
  else
    return x;
}

#define EMPLACE_LIBRARY_FUNCTION(name) \
  template <class T>                   \
  EMPLACE_INLINE T name##_of(T x) {    \
    return std::name(x);               \
  }
EMPLACE_LIBRARY_FUNCTION(sin)
EMPLACE_LIBRARY_FUNCTION(cos)
EMPLACE_LIBRARY_FUNCTION(tan)
EMPLACE_LIBRARY_FUNCTION(sinh)
EMPLACE_LIBRARY_FUNCTION(cosh)
#undef EMPLACE_LIBRARY_FUNCTION

}  // namespace emplace
#endif

namespace EMPLACE_FORMULAS::fn {

/// Base of formulas of several operations whose results show, in halves, the roundings between them: TensorFlow
/// computes these in the element's own type, all others in float.
struct RoundsEachStep {
  static constexpr bool kRoundsEachStep = true;
};

}  // namespace EMPLACE_FORMULAS::fn
