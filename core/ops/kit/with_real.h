/// From the type of a tensor's real numbers to the C++ type: for kernels that are one class with code for each type.
#pragma once

#include "core/base/dtype.h"
#include "core/base/tiny_float.h"

namespace emplace {

/// Calls f(T{}) with the C++ type of `t`. REQUIRES: `t` is in kRealNumbers.
template <class F>
auto with_real(DType t, const F& f) {
  switch (t) {
    case DType::kDouble:
      return f(double{});
    case DType::kHalf:
      return f(half{});
    case DType::kBFloat16:
      return f(bfloat16{});
    case DType::kInt8:
      return f(int8_t{});
    case DType::kInt16:
      return f(int16_t{});
    case DType::kInt32:
      return f(int32_t{});
    case DType::kInt64:
      return f(int64_t{});
    case DType::kUInt8:
      return f(uint8_t{});
    case DType::kUInt16:
      return f(uint16_t{});
    case DType::kUInt32:
      return f(uint32_t{});
    case DType::kUInt64:
      return f(uint64_t{});
    default:
      return f(float{});
  }
}

}  // namespace emplace
