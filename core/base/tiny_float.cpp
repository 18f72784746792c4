#include "core/base/tiny_float.h"

#include <array>
#include <cmath>
#include <limits>

#include "core/base/assert.h"

namespace emplace {
namespace {

struct TinyFormat {
  int mantissa_bits, smallest_exponent;  // of a normal number
  uint8_t largest, overflow, nan;        // without sign
  uint8_t sign;                          // its bit
  bool one_zero = false;                 // -0 is NaN
};

constexpr TinyFormat kE5M2{2, -14, 0x7b, 0x7c, 0x7e, 0x80};
constexpr TinyFormat kE4M3FN{3, -6, 0x7e, 0x7f, 0x7f, 0x80};
constexpr TinyFormat kE4M3FNUZ{3, -7, 0x7f, 0x80, 0x80, 0x80, true};
constexpr TinyFormat kE4M3B11FNUZ{3, -10, 0x7f, 0x80, 0x80, 0x80, true};
constexpr TinyFormat kE5M2FNUZ{2, -15, 0x7f, 0x80, 0x80, 0x80, true};
constexpr TinyFormat kE2M1FN{1, 0, 0x07, 0x07, 0x08, 0x08};

const TinyFormat& tiny_format(DType t) {
  switch (t) {
    case DType::kFloat8E5M2:
      return kE5M2;
    case DType::kFloat8E4M3FN:
      return kE4M3FN;
    case DType::kFloat8E4M3FNUZ:
      return kE4M3FNUZ;
    case DType::kFloat8E4M3B11FNUZ:
      return kE4M3B11FNUZ;
    case DType::kFloat8E5M2FNUZ:
      return kE5M2FNUZ;
    default:
      EMPLACE_ASSERT(t == DType::kFloat4E2M1FN, "the caller has a tiny float");
      return kE2M1FN;
  }
}

/// Of a number without sign that is at most `largest`.
float magnitude_of(const TinyFormat& f, uint8_t bits) {
  const int one = 1 << f.mantissa_bits, exponent = bits >> f.mantissa_bits, mantissa = bits & (one - 1);
  const int shift = f.smallest_exponent - f.mantissa_bits;
  return exponent == 0 ? std::ldexp(static_cast<float>(mantissa), shift)
                       : std::ldexp(static_cast<float>(one + mantissa), shift + exponent - 1);
}

float value_of(const TinyFormat& f, uint8_t bits) {
  const auto magnitude = static_cast<uint8_t>(bits & (f.sign - 1));
  const bool negative = bits & f.sign;
  if (f.one_zero && negative && magnitude == 0) return std::numeric_limits<float>::quiet_NaN();
  if (magnitude > f.largest) {
    const bool infinite = magnitude == f.overflow && f.overflow != f.nan;
    const float v = infinite ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    return negative ? -v : v;
  }
  return negative ? -magnitude_of(f, magnitude) : magnitude_of(f, magnitude);
}

/// Without sign; more than `largest` if it is too large. REQUIRES: finite, not negative.
int rounded_magnitude(const TinyFormat& f, float v) {
  if (v == 0) return 0;
  const int exponent = std::max(std::ilogb(v), f.smallest_exponent);
  const float steps = std::nearbyint(std::ldexp(v, f.mantissa_bits - exponent));  // exact but for the rounding
  if (exponent - f.smallest_exponent > 64) return f.largest + 1;
  return ((exponent - f.smallest_exponent) << f.mantissa_bits) + static_cast<int>(steps);
}

using TinyValues = std::array<float, 256>;

TinyValues all_values(const TinyFormat& f) {
  TinyValues values;
  for (int bits = 0; bits < 256; ++bits) {
    values[static_cast<size_t>(bits)] = value_of(f, static_cast<uint8_t>(bits & (2 * f.sign - 1)));
  }
  return values;
}

}  // namespace

uint8_t tiny_float_bits(DType t, float v) {
  const TinyFormat& f = tiny_format(t);
  const uint8_t sign = std::signbit(v) ? f.sign : 0;
  if (std::isnan(v)) return f.one_zero ? f.nan : f.nan ^ sign;
  const int magnitude = std::isinf(v) ? f.largest + 1 : rounded_magnitude(f, std::fabs(v));
  if (magnitude > f.largest) return f.overflow | sign;
  return magnitude == 0 && f.one_zero ? 0 : static_cast<uint8_t>(magnitude | sign);
}

float tiny_float_value(DType t, uint8_t bits) {
  static const std::array<TinyValues, 6> kValues{all_values(kE5M2),        all_values(kE4M3FN),   all_values(kE4M3FNUZ),
                                                 all_values(kE4M3B11FNUZ), all_values(kE5M2FNUZ), all_values(kE2M1FN)};
  const bool last = t == DType::kFloat4E2M1FN;
  const size_t row = last ? 5 : static_cast<size_t>(t) - static_cast<size_t>(DType::kFloat8E5M2);
  return kValues[row][bits];
}

float tiny_float_max(DType t) { return magnitude_of(tiny_format(t), tiny_format(t).largest); }

int8_t tiny_int(DType t, int32_t v) {
  switch (t) {
    case DType::kInt4:
      return static_cast<int8_t>(static_cast<int8_t>(static_cast<uint32_t>(v) << 4) >> 4);
    case DType::kInt2:
      return static_cast<int8_t>(static_cast<int8_t>(static_cast<uint32_t>(v) << 6) >> 6);
    case DType::kUInt4:
      return static_cast<int8_t>(v & 0xf);
    default:
      return static_cast<int8_t>(v & 3);
  }
}

DType plain_type(DType t) {
  if (is_ref(t)) return t;
  if (kTinyFloats.has(t)) return DType::kFloat;
  if (!kTinyInts.has(t)) return t;
  return t == DType::kInt4 || t == DType::kInt2 ? DType::kInt8 : DType::kUInt8;
}

}  // namespace emplace
