/// Arithmetic on half and bfloat16: widened to float, computed, rounded once to nearest even, as on the CPU.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/base/dtype.h"
#include "cuda/device_code.h"

namespace emplace::cuda {

template <class T>
inline constexpr bool kIsNarrow = std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;

/// The type that elements of T are computed in.
template <class T>
using Wide = std::conditional_t<kIsNarrow<T>, float, T>;

EMPLACE_HD float float_of_bits(uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  return std::bit_cast<float>(bits);
#endif
}
EMPLACE_HD uint32_t bits_of_float(float v) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(v);
#else
  return std::bit_cast<uint32_t>(v);
#endif
}

template <class T>
EMPLACE_HD Wide<T> widen(T x) {
  if constexpr (std::is_same_v<T, bfloat16>) {
    return float_of_bits(static_cast<uint32_t>(x.bits) << 16);
  } else if constexpr (std::is_same_v<T, half>) {
#ifdef __CUDA_ARCH__
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
#else
    // Subnormal halves are whole multiples of 2^-24; the others differ in the exponent's bias (15, 127).
    const uint32_t sign = static_cast<uint32_t>(x.bits & 0x8000u) << 16;
    const uint32_t rest = x.bits & 0x7fffu;
    if (rest < 0x400u) {
      const float tiny = static_cast<float>(rest) * 0x1p-24f;
      return float_of_bits(bits_of_float(tiny) | sign);
    }
    const uint32_t exponent =
        rest >= 0x7c00u ? 0x7f800000u | ((rest & 0x3ffu) << 13) : (rest << 13) + ((127u - 15u) << 23);
    return float_of_bits(exponent | sign);
#endif
  } else {
    return x;
  }
}

template <class T>
EMPLACE_HD T narrow(Wide<T> x) {
  if constexpr (std::is_same_v<T, bfloat16>) {
    T out;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(out.bits) : "f"(x));
    return out;
#else
    const uint32_t bits = bits_of_float(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
      out.bits = static_cast<uint16_t>((bits >> 16) | 0x40u);  // NaN stays NaN
    else
      out.bits = static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
    return out;
#endif
  } else if constexpr (std::is_same_v<T, half>) {
#ifdef __CUDA_ARCH__
    T out;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out.bits) : "f"(x));
    return out;
#else
    return T(x);
#endif
  } else {
    return x;
  }
}

}  // namespace emplace::cuda
