/// Arithmetic that kernels share: integers that wrap, halves that round after every operation, type tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/base/dtype.h"
#include "core/ops/kit/isa.h"

// Vectors of the vector extension go through always-inlined functions only: how a call would pass them does not matter.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace emplace {

using complex64 = std::complex<float>;
using complex128 = std::complex<double>;

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;
template <class T>
inline constexpr bool kIsBFloat16 = std::is_same_v<T, bfloat16>;
template <class T>
inline constexpr bool kIsComplex = std::is_same_v<T, complex64> || std::is_same_v<T, complex128>;
template <class T>
inline constexpr bool kIsFloating = std::is_floating_point_v<T> || kIsHalf<T>;
/// A vector of the compiler's vector extension with lanes of integers.
template <class T>
inline constexpr bool kIsIntegerVector = requires(T v) {
  v[0] >> 1;
}
&&!std::is_class_v<T> && !std::is_pointer_v<T>;
template <class T>
inline constexpr bool kWraps = std::is_integral_v<T> || kIsIntegerVector<T>;

// One rounding per operation, as TensorFlow computes in these types. For functions of several operations whose
// results show the roundings between them; all others are computed in float (core/ops/kit/convert.h).
#define EMPLACE_HALF_OPERATORS(H)                                                           \
  inline H operator+(H a, H b) { return H(static_cast<float>(a) + static_cast<float>(b)); } \
  inline H operator-(H a, H b) { return H(static_cast<float>(a) - static_cast<float>(b)); } \
  inline H operator*(H a, H b) { return H(static_cast<float>(a) * static_cast<float>(b)); } \
  inline H operator/(H a, H b) { return H(static_cast<float>(a) / static_cast<float>(b)); } \
  inline bool operator<(H a, H b) { return static_cast<float>(a) < static_cast<float>(b); } \
  inline bool operator>(H a, H b) { return static_cast<float>(a) > static_cast<float>(b); } \
  inline bool operator==(H a, H b) { return static_cast<float>(a) == static_cast<float>(b); }
EMPLACE_HALF_OPERATORS(half)
EMPLACE_HALF_OPERATORS(bfloat16)
#undef EMPLACE_HALF_OPERATORS

template <class T>
struct UnsignedTwin {
  using Type = std::make_unsigned_t<T>;
};
template <class T>
requires kIsIntegerVector<T>
struct UnsignedTwin<T> {
  using Lane = std::make_unsigned_t<std::remove_cvref_t<decltype(std::declval<T>()[0])>>;
  typedef Lane Type __attribute__((vector_size(sizeof(T))));
};

// Signed integers, also those in vectors (which C casts convert, static_cast does not), wrap as unsigned ones do.
template <class T>
using Wrapping = typename UnsignedTwin<T>::Type;

template <class T>
EMPLACE_INLINE T add(T a, T b) {
  if constexpr (kWraps<T>)
    return (T)((Wrapping<T>)a + (Wrapping<T>)b);
  else
    return a + b;
}
template <class T>
EMPLACE_INLINE T subtract(T a, T b) {
  if constexpr (kWraps<T>)
    return (T)((Wrapping<T>)a - (Wrapping<T>)b);
  else
    return a - b;
}
template <class T>
EMPLACE_INLINE T multiply(T a, T b) {
  if constexpr (kWraps<T>) {
    static_assert(sizeof(T) >= sizeof(int), "narrower ones are promoted to int, which may overflow");
    return (T)((Wrapping<T>)a * (Wrapping<T>)b);
  } else if constexpr (kIsComplex<T>) {
    return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  } else {
    return a * b;
  }
}

/// Not for integers. Complex numbers, here and above, by the plain formula: C's rules for infinite parts are not
/// TensorFlow's.
template <class T>
EMPLACE_INLINE T divide(T a, T b) {
  if constexpr (kIsComplex<T>) {
    const auto scale = std::max(std::fabs(b.real()), std::fabs(b.imag()));
    const auto c = b.real() / scale, d = b.imag() / scale, norm = c * c + d * d;
    return T((a.real() * c + a.imag() * d) / norm / scale, (a.imag() * c - a.real() * d) / norm / scale);
  } else {
    return a / b;
  }
}

/// NaN if either is. Also for vectors of the compiler's vector extension, whose comparisons cannot be short-circuited.
template <class T>
EMPLACE_INLINE T maximum(T a, T b) {
  if constexpr (std::is_arithmetic_v<T>) {
    const T larger = a > b ? a : b;  // one instruction, which counts denormals as zero where that is asked for
    return a != a ? a : larger;
  } else {
    return ((a > b) | (a != a)) ? a : b;
  }
}
template <class T>
EMPLACE_INLINE T minimum(T a, T b) {
  if constexpr (std::is_arithmetic_v<T>) {
    const T smaller = a < b ? a : b;
    return a != a ? a : smaller;
  } else {
    return ((a < b) | (a != a)) ? a : b;
  }
}

}  // namespace emplace
