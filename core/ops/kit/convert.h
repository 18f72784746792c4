/// Element conversions between a storage type and the type that arithmetic is done in: halves compute in float,
/// integers below 32 bits in int32 (the low bits of a sum, product, quotient or minimum are the same), uint32 in int64,
/// tiny floats in float, tiny integers in int32 (core/base/tiny_float.h).
#pragma once

#include <cstdint>

#include "core/base/dtype.h"

namespace emplace {

using ConvertFunction = void (*)(const void* from, void* to, int64_t n);

/// The type that kernels compute in for elements of type `t`; `t` itself for all others.
constexpr DType compute_type(DType t) {
  switch (t) {
    case DType::kHalf:
    case DType::kBFloat16:
    case DType::kFloat8E5M2:
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E4M3B11FNUZ:
    case DType::kFloat8E5M2FNUZ:
    case DType::kFloat4E2M1FN:
      return DType::kFloat;
    case DType::kInt4:
    case DType::kUInt4:
    case DType::kInt2:
    case DType::kUInt2:
    case DType::kInt8:
    case DType::kInt16:
    case DType::kUInt8:
    case DType::kUInt16:
      return DType::kInt32;
    case DType::kUInt32:
      return DType::kInt64;
    default:
      return t;
  }
}

/// Widens to the compute type / narrows from it (halves round to nearest even, integers keep their low bits).
/// Null where both are the same type.
ConvertFunction widening(DType storage);
ConvertFunction narrowing(DType storage);

}  // namespace emplace
