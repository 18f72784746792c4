/// What the ops that quantise share: C++ types of quantised elements, slices along an axis, x86's casts.
#pragma once

#include <climits>
#include <cstdint>

#include "core/base/dtype.h"
#include "core/op/kernel.h"
#include "core/op/shape_context.h"

namespace emplace {

inline constexpr DTypeSet kQuantized{DType::kQInt8, DType::kQUInt8, DType::kQInt16, DType::kQUInt16, DType::kQInt32};

/// Calls f(Q{}) with the integer behind a quantised type.
template <class F>
auto with_quantized(DType t, const F& f) {
  switch (t) {
    case DType::kQInt8:
      return f(int8_t{});
    case DType::kQUInt8:
      return f(uint8_t{});
    case DType::kQInt16:
      return f(int16_t{});
    case DType::kQUInt16:
      return f(uint16_t{});
    default:
      return f(int32_t{});
  }
}

/// Cut towards zero as x86 does it: what no int32 is, also NaN, is the lowest one.
inline int32_t cut_to_int32(float v) {
  return v >= -2147483648.0f && v < 2147483648.0f ? static_cast<int32_t>(v) : INT32_MIN;
}

/// A tensor of `outer` x `count` x `inner` elements, the middle dimension being the axis; axis -1: one slice of all.
struct AxisSlices {
  int64_t outer = 1, count = 1, inner = 1;
  AxisSlices(const Shape& shape, int64_t axis);
  /// body(slice, begin, end) for runs of elements of one slice, beside each other.
  template <class F>
  void for_runs(KernelContext& c, double cost_ns, const F& body) const {
    if (outer * count == 1) {
      c.parallel_for(inner, cost_ns, [&](int64_t begin, int64_t end) { body(int64_t{0}, begin, end); });
      return;
    }
    c.parallel_for(outer * count, cost_ns * static_cast<double>(inner), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body(i % count, i * inner, (i + 1) * inner);
    });
  }
};

/// The rank-checked shape of ranges in inputs `i` and `i` + 1: scalars, or vectors as long as the axis of `x`.
Result<Shape> range_shape(const ShapeContext& c, int i, const Shape& x);

}  // namespace emplace
