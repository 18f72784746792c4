/// The words of formulas (core/ops/kit/formula.h) for a GPU: the C library's functions, numbers of cuda/complex.h, and
/// halves that are computed in float, or by Stepwise where a formula rounds each step. NVRTC reads it too.
#pragma once

#include <cmath>

#include "core/ops/kit/isa.h"
#include "cuda/arithmetic.h"

#define EMPLACE_FORMULAS emplace::cuda

namespace emplace::cuda {

/// Nobody waits for the device to find a zero.
inline constexpr bool kDivisorsAreChecked = false;

/// A half or bfloat16 whose operations each round.
template <class T>
struct Stepwise {
  T stored;

  EMPLACE_HD explicit Stepwise(T x) : stored(x) {}
  EMPLACE_HD explicit Stepwise(float x) : stored(narrow<T>(x)) {}
  EMPLACE_HD explicit operator float() const { return widen(stored); }
  EMPLACE_HD friend Stepwise operator+(Stepwise a, Stepwise b) { return Stepwise(widen(a.stored) + widen(b.stored)); }
  EMPLACE_HD friend Stepwise operator-(Stepwise a, Stepwise b) { return Stepwise(widen(a.stored) - widen(b.stored)); }
  EMPLACE_HD friend Stepwise operator*(Stepwise a, Stepwise b) { return Stepwise(widen(a.stored) * widen(b.stored)); }
  EMPLACE_HD friend Stepwise operator/(Stepwise a, Stepwise b) { return Stepwise(widen(a.stored) / widen(b.stored)); }
  EMPLACE_HD friend bool operator<(Stepwise a, Stepwise b) { return widen(a.stored) < widen(b.stored); }
  EMPLACE_HD friend bool operator>(Stepwise a, Stepwise b) { return widen(a.stored) > widen(b.stored); }
  EMPLACE_HD friend bool operator==(Stepwise a, Stepwise b) { return widen(a.stored) == widen(b.stored); }
};

template <class T>
inline constexpr bool kIsHalf = false;
template <class T>
inline constexpr bool kIsHalf<Stepwise<T>> = true;
template <class T>
inline constexpr bool kIsBFloat16 = std::is_same_v<T, Stepwise<bfloat16>>;

template <class T>
EMPLACE_HD T divide(T a, T b) {
  return a / b;
}
template <class T>
EMPLACE_HD T magnitude(T x) {
  return std::fabs(x);
}
template <class T>
EMPLACE_HD Stepwise<T> magnitude(Stepwise<T> x) {
  x.stored.bits &= 0x7fffu;
  return x;
}

#define EMPLACE_LIBRARY_FUNCTION(name) \
  template <class T>                   \
  EMPLACE_HD T name##_of(T x) {        \
    return std::name(x);               \
  }
EMPLACE_LIBRARY_FUNCTION(exp)
EMPLACE_LIBRARY_FUNCTION(expm1)
EMPLACE_LIBRARY_FUNCTION(log)
EMPLACE_LIBRARY_FUNCTION(log1p)
EMPLACE_LIBRARY_FUNCTION(tanh)
EMPLACE_LIBRARY_FUNCTION(erf)
EMPLACE_LIBRARY_FUNCTION(sin)
EMPLACE_LIBRARY_FUNCTION(cos)
EMPLACE_LIBRARY_FUNCTION(tan)
EMPLACE_LIBRARY_FUNCTION(sinh)
EMPLACE_LIBRARY_FUNCTION(cosh)
#undef EMPLACE_LIBRARY_FUNCTION
template <class T>
EMPLACE_HD Stepwise<T> exp_of(Stepwise<T> x) {
  return Stepwise<T>(std::exp(static_cast<float>(x)));
}
template <class T>
EMPLACE_HD T softplus_of(T x) {
  return (x > 0 ? x : T(0)) + std::log1p(std::exp(-std::fabs(x)));
}
template <class T>
EMPLACE_HD T sigmoid_of(T x) {
  return T(1) / (T(1) + std::exp(-x));
}

}  // namespace emplace::cuda

#include "core/ops/kit/formula.h"

namespace emplace::cuda {

template <class F>
inline constexpr bool kRoundsEachStep = requires {
  F::kRoundsEachStep;
};

/// What F takes for an element of T.
template <class F, class T>
struct OperandOf {
  using Type = std::conditional_t<kIsNarrow<T> && kRoundsEachStep<F>, Stepwise<T>, Wide<T>>;
};
template <class F, class T>
using Operand = typename OperandOf<F, T>::Type;

namespace fn {

/// One of several functions, chosen by its number as the kernel runs: ops that differ by little share a kernel.
template <class First, class... Others>
struct OneOf {
  int which;

  template <class... T>
  EMPLACE_HD auto apply(T... x) const -> decltype(First::apply(x...)) {
    if constexpr (sizeof...(Others) == 0)
      return First::apply(x...);
    else
      return which == 0 ? First::apply(x...) : OneOf<Others...>{which - 1}.apply(x...);
  }
};

}  // namespace fn

template <class First, class... Others>
inline constexpr bool kRoundsEachStep<fn::OneOf<First, Others...>> = kRoundsEachStep<First>;

}  // namespace emplace::cuda
