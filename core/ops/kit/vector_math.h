/// exp, log and their relatives for float as straight-line arithmetic, so that loops over them vectorise; for double
/// and complex the C++ library. Errors in ulp (float, measured against long double over all exponents): exp 1.0,
/// expm1 1.5, log 1.0, log1p 2.4, tanh 2.4, erf 2.4, sigmoid 2.5.
///
/// NaN stays NaN, infinities and overflow behave as IEEE says; results below the normal range may be flushed to zero.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/ops/kit/numeric.h"

namespace emplace {

/// Bounds of arguments. Their values are elsewhere: where the compiler sees a bound, it follows what comes of it
/// through the whole formula, and compares and blends at the end instead of taking a minimum, which costs a fifth of
/// the time of exp.
struct ArgumentBounds {
  float exp_low, exp_high;          // exp is 0 and infinite there
  float expm1_low;                  // -1
  float sigmoid_low, sigmoid_high;  // of -x: 1 + exp is 1, and 2^n of the nearest n infinite
  float softplus_low;               // 2^n of the nearest n is 0
  float erf_high;                   // 1
};
extern const ArgumentBounds kBounds;

/// exp(x) = 2^n * exp(r), |r| <= ln(2)/2.
struct ExpReduction {
  int32_t n;
  float r;
};

/// REQUIRES: |x| < 2^21 or NaN.
EMPLACE_INLINE ExpReduction reduce_for_exp(float x) {
  constexpr float kRounder = 0x1.8p23f;  // adding it leaves the integer nearest to x / ln(2) in the low bits
  const float rounded = x * 1.44269504088896341f + kRounder;
  const float n = rounded - kRounder;
  // ln(2) in two parts; the first has few enough bits for n * part to be exact.
  const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  return {std::bit_cast<int32_t>(rounded) - std::bit_cast<int32_t>(kRounder), r};
}

/// (exp(r) - 1 - r) / r^2 for |r| <= ln(2)/2; minimax.
EMPLACE_INLINE float exp_tail(float r) {
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  return p * r + 5.0000001201e-1f;
}

/// 2^n for -126 <= n <= 127; 0 of -127, infinite of 128.
EMPLACE_INLINE float power_of_two(int32_t n) { return std::bit_cast<float>((n + 127) << 23); }

/// NaN stays.
EMPLACE_INLINE float clamp(float x, float low, float high) {
  const float raised = x < low ? low : x;
  return raised > high ? high : raised;
}

EMPLACE_INLINE float exp_of(float x) {
  const auto [n, r] = reduce_for_exp(clamp(x, kBounds.exp_low, kBounds.exp_high));
  const float mantissa = exp_tail(r) * (r * r) + r + 1.0f;
  const int32_t half_n = n >> 1;  // 2^n may overflow where the result does not
  return mantissa * power_of_two(half_n) * power_of_two(n - half_n);
}

/// exp(x) where 2^n is a float for the n nearest to x / ln(2).
EMPLACE_INLINE float exp_in_range(float x) {
  const auto [n, r] = reduce_for_exp(x);
  return (exp_tail(r) * (r * r) + r + 1.0f) * power_of_two(n);
}

EMPLACE_INLINE float expm1_of(float x) {
  const auto [n, r] = reduce_for_exp(clamp(x, kBounds.expm1_low, kBounds.exp_high));
  const float scale = power_of_two(n - 1);  // half of 2^n, which may overflow where the result does not
  const float exp_r_minus_1 = exp_tail(r) * (r * r) + r;
  const float result = 2.0f * (exp_r_minus_1 * scale + (scale - 0.5f));
  return std::fabs(x) < 0x1p-25f ? x : result;  // keeps -0 and the smallest numbers
}

/// log(x 2^shift). REQUIRES: x is positive, normal and finite; anything else gives some number.
EMPLACE_INLINE float log_of_normal(float x, int32_t shift) {
  constexpr uint32_t kSqrtHalf = 0x3f3504f3;
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const int32_t e = static_cast<int32_t>(bits - kSqrtHalf) >> 23;
  const float f = std::bit_cast<float>(bits - (static_cast<uint32_t>(e) << 23)) -
                  1.0f;  // x = (1 + f) 2^e, 1 + f in [sqrt(1/2), sqrt(2))
  const float exponent = static_cast<float>(e + shift);
  float p = 7.0376836292e-2f;
  p = p * f - 1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f - 1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f - 1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f - 2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  const float square = f * f;
  float y = p * f * square + exponent * -2.12194440e-4f;
  y = y - 0.5f * square;
  return (f + y) + exponent * 0.693359375f;
}

EMPLACE_INLINE float log_of(float x) {
  const bool tiny = x < std::numeric_limits<float>::min();
  float result = log_of_normal(tiny ? x * 0x1p23f : x, tiny ? -23 : 0);
  result = x == std::numeric_limits<float>::infinity() ? x : result;
  result = x == 0.0f ? -std::numeric_limits<float>::infinity() : result;
  return x >= 0.0f ? result : std::numeric_limits<float>::quiet_NaN();
}

/// log(1 + x): the logarithm of the rounded sum, corrected for the rounding.
EMPLACE_INLINE float log1p_of(float x) {
  const float u = 1.0f + x;
  const float corrected = log_of(u) * (x / (u - 1.0f));
  return ((u == 1.0f) | (x == std::numeric_limits<float>::infinity())) ? x : corrected;
}

/// log(1 + exp(x)); exp(-|x|) is at most 1, so nothing overflows.
EMPLACE_INLINE float softplus_of(float x) {
  const float below = -std::fabs(x), power = exp_in_range(below < kBounds.softplus_low ? kBounds.softplus_low : below);
  const float u = 1.0f + power;
  const float corrected = log_of_normal(u, 0) * (power / (u - 1.0f));
  return (x > 0.0f ? x : 0.0f) + (u == 1.0f ? power : corrected);
}

/// tanh(x) = m / (m + 2) with m = exp(2|x|) - 1, which near 0 is exp(r) - 1 itself and loses no digits.
EMPLACE_INLINE float tanh_of(float x) {
  const float magnitude = std::fabs(x);
  const auto [n, r] = reduce_for_exp(magnitude > 9.1f ? 18.2f : 2.0f * magnitude);  // tanh(9.1) rounds to 1
  const float scale = power_of_two(n);
  const float exp_r_minus_1 = exp_tail(r) * (r * r) + r;
  const float m = exp_r_minus_1 * scale + (scale - 1.0f);
  return std::copysign(m / (m + 2.0f), x);
}

/// Near 0 an odd polynomial, elsewhere 1 - exp(p(|x|)); both minimax.
EMPLACE_INLINE float erf_of(float x) {
  const float square = x * x;
  float q = -6.136140173e-04f;
  q = q * square + 5.020716600e-03f;
  q = q * square - 2.678475738e-02f;
  q = q * square + 1.128230010e-01f;
  q = q * square - 3.761253846e-01f;
  q = q * square + 1.128379156e+00f;
  const float magnitude = std::fabs(x);
  const float m = magnitude > kBounds.erf_high ? kBounds.erf_high : magnitude;
  float p = -1.993411049e-04f;
  p = p * m + 3.076354544e-03f;
  p = p * m - 2.235794279e-02f;
  p = p * m + 1.042010550e-01f;
  p = p * m + 6.368780441e-01f;
  p = p * m + 1.127854519e+00f;
  p = p * m + 1.528226927e-04f;
  const float large = std::copysign(1.0f - exp_in_range(-p), x);
  return magnitude < 0.89f ? x * q : large;
}

EMPLACE_INLINE float sigmoid_of(float x) {
  return 1.0f / (1.0f + exp_in_range(clamp(-x, kBounds.sigmoid_low, kBounds.sigmoid_high)));
}

// The other types.
template <class T>
EMPLACE_INLINE T exp_of(T x) {
  if constexpr (kIsHalf<T>)
    return T(exp_of(static_cast<float>(x)));
  else
    return std::exp(x);
}
template <class T>
EMPLACE_INLINE T expm1_of(T x) {
  if constexpr (kIsComplex<T>) {
    const auto turn = std::sin(x.imag() / 2);  // cos(y) - 1 = -2 sin(y / 2)^2
    return T(std::expm1(x.real()) * std::cos(x.imag()) - 2 * turn * turn, std::exp(x.real()) * std::sin(x.imag()));
  } else {
    return std::expm1(x);
  }
}
template <class T>
EMPLACE_INLINE T log_of(T x) {
  return std::log(x);
}
template <class T>
EMPLACE_INLINE T log1p_of(T x) {
  if constexpr (kIsComplex<T>) {
    const auto a = x.real(), b = x.imag();
    if (std::fabs(a) > 0.5f || std::fabs(b) > 0.5f) return std::log(T(1) + x);
    return T(std::log1p(a * (2 + a) + b * b) / 2, std::atan2(b, 1 + a));
  } else {
    return std::log1p(x);
  }
}
template <class T>
EMPLACE_INLINE T softplus_of(T x) {
  return (x > 0 ? x : T(0)) + std::log1p(std::exp(-std::fabs(x)));
}
template <class T>
EMPLACE_INLINE T tanh_of(T x) {
  return std::tanh(x);
}
template <class T>
EMPLACE_INLINE T erf_of(T x) {
  return std::erf(x);
}
template <class T>
EMPLACE_INLINE T sigmoid_of(T x) {
  return T(1) / (T(1) + std::exp(-x));
}

template <class T>
EMPLACE_INLINE auto magnitude(T x) {
  if constexpr (kIsHalf<T>)
    return std::bit_cast<T>(static_cast<uint16_t>(x.bits & 0x7fff));
  else if constexpr (kIsComplex<T>)
    return std::abs(x);
  else
    return std::fabs(x);
}

/// For `kScalarOnly` of functions over the above.
template <class T>
inline constexpr bool kLibraryMath = !std::is_same_v<T, float>;

/// F, a formula of one of the above, with what loops over it should know.
template <class F>
struct Transcendental : F {
  static constexpr double kCostNs = 0.3;
  template <class T>
  static constexpr bool kScalarOnly = kLibraryMath<T>;
};

}  // namespace emplace
