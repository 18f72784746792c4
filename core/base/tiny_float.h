/// Floats of 8 and 4 bits: values as TensorFlow's ml_dtypes has them, a byte for each element.
#pragma once

#include <cstdint>

#include "core/base/dtype.h"

namespace emplace {

inline constexpr DTypeSet kTinyFloats{DType::kFloat8E5M2,        DType::kFloat8E4M3FN,   DType::kFloat8E4M3FNUZ,
                                      DType::kFloat8E4M3B11FNUZ, DType::kFloat8E5M2FNUZ, DType::kFloat4E2M1FN};
inline constexpr DTypeSet kTinyInts{DType::kInt4, DType::kUInt4, DType::kInt2, DType::kUInt2};
inline constexpr DTypeSet kTiny = kTinyFloats | kTinyInts;

/// Rounded to the nearest, ties to even. What is too large becomes infinite, or NaN where the type has no infinity, or
/// the largest number where it has neither. REQUIRES: kTinyFloats.has(t).
uint8_t tiny_float_bits(DType t, float v);
float tiny_float_value(DType t, uint8_t bits);
/// The largest finite number.
float tiny_float_max(DType t);

/// The low bits of `v` that such an integer has, with its sign in all bits above. REQUIRES: kTinyInts.has(t).
int8_t tiny_int(DType t, int32_t v);

/// The type whose elements say the same in a form that all can read: float for tiny floats, int8 or uint8 for tiny
/// integers, whose bytes are the same; `t` itself for all others.
DType plain_type(DType t);

}  // namespace emplace
