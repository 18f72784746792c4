#include "core/ops/kit/convert.h"

#include <immintrin.h>

#include <bit>

#include "core/base/tiny_float.h"
#include "core/ops/kit/isa.h"

namespace emplace {
namespace {

template <class From, class To>
EMPLACE_INLINE void convert_body(const void* from, void* to, int64_t n) {
  const From* x = static_cast<const From*>(from);
  To* y = static_cast<To*>(to);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<To>(x[i]);
}
template <class From, class To>
void convert_base(const void* from, void* to, int64_t n) {
  convert_body<From, To>(from, to, n);
}
template <class From, class To>
EMPLACE_TARGET_V3 void convert_v3(const void* from, void* to, int64_t n) {
  convert_body<From, To>(from, to, n);
}
template <class From, class To>
ConvertFunction convert() {
  return for_isa<ConvertFunction>(convert_base<From, To>, convert_v3<From, To>, convert_v3<From, To>);
}

EMPLACE_INLINE void bfloat16_to_float_body(const void* from, void* to, int64_t n) {
  const uint16_t* x = static_cast<const uint16_t*>(from);
  uint32_t* y = static_cast<uint32_t*>(to);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<uint32_t>(x[i]) << 16;
}
void bfloat16_to_float_base(const void* from, void* to, int64_t n) { bfloat16_to_float_body(from, to, n); }
EMPLACE_TARGET_V3 void bfloat16_to_float_v3(const void* from, void* to, int64_t n) {
  bfloat16_to_float_body(from, to, n);
}

// Integer arithmetic only, so that it vectorises: the same result as bfloat16(float).
EMPLACE_INLINE void float_to_bfloat16_body(const void* from, void* to, int64_t n) {
  const uint32_t* x = static_cast<const uint32_t*>(from);
  uint16_t* y = static_cast<uint16_t*>(to);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    uint32_t u = x[i];
    uint32_t rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
    uint32_t nan = (u >> 16) | 0x40;
    y[i] = static_cast<uint16_t>((u & 0x7fffffff) > 0x7f800000 ? nan : rounded);
  }
}
void float_to_bfloat16_base(const void* from, void* to, int64_t n) { float_to_bfloat16_body(from, to, n); }
EMPLACE_TARGET_V3 void float_to_bfloat16_v3(const void* from, void* to, int64_t n) {
  float_to_bfloat16_body(from, to, n);
}

EMPLACE_TARGET_V3 void half_to_float_v3(const void* from, void* to, int64_t n) {
  const half* x = static_cast<const half*>(from);
  float* y = static_cast<float*>(to);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
  }
  for (; i < n; ++i) y[i] = static_cast<float>(x[i]);
}
EMPLACE_TARGET_V3 void float_to_half_v3(const void* from, void* to, int64_t n) {
  const float* x = static_cast<const float*>(from);
  half* y = static_cast<half*>(to);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m128i bits = _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), bits);
  }
  for (; i < n; ++i) y[i] = half(x[i]);
}

template <DType t>
void tiny_float_to_float(const void* from, void* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<float*>(to)[i] = tiny_float_value(t, static_cast<const uint8_t*>(from)[i]);
}
template <DType t>
void float_to_tiny_float(const void* from, void* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) static_cast<uint8_t*>(to)[i] = tiny_float_bits(t, static_cast<const float*>(from)[i]);
}
template <DType t>
void int_to_tiny_int(const void* from, void* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) static_cast<int8_t*>(to)[i] = tiny_int(t, static_cast<const int32_t*>(from)[i]);
}

ConvertFunction tiny_widening(DType storage) {
  switch (storage) {
    case DType::kFloat8E5M2:
      return tiny_float_to_float<DType::kFloat8E5M2>;
    case DType::kFloat8E4M3FN:
      return tiny_float_to_float<DType::kFloat8E4M3FN>;
    case DType::kFloat8E4M3FNUZ:
      return tiny_float_to_float<DType::kFloat8E4M3FNUZ>;
    case DType::kFloat8E4M3B11FNUZ:
      return tiny_float_to_float<DType::kFloat8E4M3B11FNUZ>;
    case DType::kFloat8E5M2FNUZ:
      return tiny_float_to_float<DType::kFloat8E5M2FNUZ>;
    case DType::kFloat4E2M1FN:
      return tiny_float_to_float<DType::kFloat4E2M1FN>;
    default:
      return plain_type(storage) == DType::kInt8 ? convert<int8_t, int32_t>() : convert<uint8_t, int32_t>();
  }
}

ConvertFunction tiny_narrowing(DType storage) {
  switch (storage) {
    case DType::kFloat8E5M2:
      return float_to_tiny_float<DType::kFloat8E5M2>;
    case DType::kFloat8E4M3FN:
      return float_to_tiny_float<DType::kFloat8E4M3FN>;
    case DType::kFloat8E4M3FNUZ:
      return float_to_tiny_float<DType::kFloat8E4M3FNUZ>;
    case DType::kFloat8E4M3B11FNUZ:
      return float_to_tiny_float<DType::kFloat8E4M3B11FNUZ>;
    case DType::kFloat8E5M2FNUZ:
      return float_to_tiny_float<DType::kFloat8E5M2FNUZ>;
    case DType::kFloat4E2M1FN:
      return float_to_tiny_float<DType::kFloat4E2M1FN>;
    case DType::kInt4:
      return int_to_tiny_int<DType::kInt4>;
    case DType::kUInt4:
      return int_to_tiny_int<DType::kUInt4>;
    case DType::kInt2:
      return int_to_tiny_int<DType::kInt2>;
    default:
      return int_to_tiny_int<DType::kUInt2>;
  }
}

}  // namespace

ConvertFunction widening(DType storage) {
  if (kTiny.has(storage)) return tiny_widening(storage);
  switch (storage) {
    case DType::kHalf:
      return for_isa<ConvertFunction>(convert_base<half, float>, half_to_float_v3, half_to_float_v3);
    case DType::kBFloat16:
      return for_isa<ConvertFunction>(bfloat16_to_float_base, bfloat16_to_float_v3, bfloat16_to_float_v3);
    case DType::kInt8:
      return convert<int8_t, int32_t>();
    case DType::kInt16:
      return convert<int16_t, int32_t>();
    case DType::kUInt8:
      return convert<uint8_t, int32_t>();
    case DType::kUInt16:
      return convert<uint16_t, int32_t>();
    case DType::kUInt32:
      return convert<uint32_t, int64_t>();
    default:
      return nullptr;
  }
}

ConvertFunction narrowing(DType storage) {
  if (kTiny.has(storage)) return tiny_narrowing(storage);
  switch (storage) {
    case DType::kHalf:
      return for_isa<ConvertFunction>(convert_base<float, half>, float_to_half_v3, float_to_half_v3);
    case DType::kBFloat16:
      return for_isa<ConvertFunction>(float_to_bfloat16_base, float_to_bfloat16_v3, float_to_bfloat16_v3);
    case DType::kInt8:
      return convert<int32_t, int8_t>();
    case DType::kInt16:
      return convert<int32_t, int16_t>();
    case DType::kUInt8:
      return convert<int32_t, uint8_t>();
    case DType::kUInt16:
      return convert<int32_t, uint16_t>();
    case DType::kUInt32:
      return convert<int64_t, uint32_t>();
    default:
      return nullptr;
  }
}

}  // namespace emplace
