/// Arithmetic that kernels share: integers that wrap, maxima that keep NaN.
#pragma once

#include <limits>
#include <type_traits>

#include "cuda/complex.h"
#include "cuda/narrow.h"

namespace emplace::cuda {

/// Integers in a wide enough unsigned type, where nothing overflows.
template <class T>
using Unsigned = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;

template <class T>
EMPLACE_HD T add(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
  else
    return a + b;
}
template <class T>
EMPLACE_HD T subtract(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
  else
    return a - b;
}
template <class T>
EMPLACE_HD T multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<Unsigned<T>>(a) * static_cast<Unsigned<T>>(b));
  else
    return a * b;
}
/// NaN if either is.
template <class T>
EMPLACE_HD T maximum(T a, T b) {
  return a > b || a != a ? a : b;
}
template <class T>
EMPLACE_HD T minimum(T a, T b) {
  return a < b || a != a ? a : b;
}

/// The largest and the smallest finite number.
template <class T>
EMPLACE_HD Wide<T> highest_finite() {
  if constexpr (std::is_same_v<T, half>)
    return 65504.0f;
  else if constexpr (std::is_same_v<T, bfloat16>)
    return float_of_bits(0x7f7f0000u);
  else
    return std::numeric_limits<T>::max();
}
template <class T>
EMPLACE_HD Wide<T> lowest_finite() {
  if constexpr (std::is_integral_v<T>)
    return std::numeric_limits<T>::lowest();
  else
    return -highest_finite<T>();
}

/// sum + a * b, in one instruction where the hardware has one: for long sums of products.
template <class T>
EMPLACE_HD T accumulate(T sum, T a, T b) {
#ifdef __CUDA_ARCH__
  if constexpr (std::is_same_v<T, float>)
    return __fmaf_rn(a, b, sum);
  else if constexpr (std::is_same_v<T, double>)
    return __fma_rn(a, b, sum);
  else
    return add(sum, multiply(a, b));
#else
  return add(sum, multiply(a, b));
#endif
}

/// The value as type T holds it: for functions of several steps that TensorFlow computes in T itself.
template <class T>
EMPLACE_HD Wide<T> rounded(Wide<T> x) {
  if constexpr (kIsNarrow<T>)
    return widen(narrow<T>(x));
  else
    return x;
}

}  // namespace emplace::cuda
