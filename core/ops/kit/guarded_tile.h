/// Float functions whose straight-line form, in double, is right for ordinary arguments only; the others go to the
/// C++ library. Rounded to float the results are those of exact arithmetic but for one in some millions.
///
///   struct FastSine {
///     using Library = Sin;             // elementwise, for the other arguments and the other types
///     static bool ordinary(float x);   // not for NaN
///     static float apply(float x);     // any number for what is not ordinary; loops over both vectorise
///   };
#pragma once

#include <algorithm>
#include <cstring>

#include "core/ops/kit/elementwise.h"

namespace emplace {

/// Of one or two operands. Block by block: all by the straight line, then what is not ordinary once more.
template <class F>
EMPLACE_INLINE void guarded_body(const void* const* inputs, const int64_t* strides, void* out, int64_t n) {
  constexpr int64_t kBlock = 256;
  constexpr int kOperands = arity<F, float>();
  float repeated[kOperands][kBlock], result[kBlock];
  const float* x[2] = {};
  for (int i = 0; i < kOperands; ++i) {
    x[i] = repeated[i];
    if (strides[i] == 0) std::fill_n(repeated[i], kBlock, *static_cast<const float*>(inputs[i]));
  }
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = std::min(kBlock, n - begin);
    for (int i = 0; i < kOperands; ++i) {
      if (strides[i] != 0) x[i] = static_cast<const float*>(inputs[i]) + begin;
    }
    int32_t others = 0;
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (kOperands == 1) {
        result[i] = F::apply(x[0][i]);
        others |= F::ordinary(x[0][i]) ? 0 : 1;
      } else {
        result[i] = F::apply(x[0][i], x[1][i]);
        others |= F::ordinary(x[0][i], x[1][i]) ? 0 : 1;
      }
    }
    for (int64_t i = 0; others && i < count; ++i) {
      if constexpr (kOperands == 1) {
        if (!F::ordinary(x[0][i])) result[i] = F::Library::apply(x[0][i]);
      } else {
        if (!F::ordinary(x[0][i], x[1][i])) result[i] = F::Library::apply(x[0][i], x[1][i]);
      }
    }
    std::memcpy(static_cast<float*>(out) + begin, result, static_cast<size_t>(count) * sizeof(float));
  }
}
template <class F>
void guarded_base(const void* const* in, const int64_t* s, void* out, int64_t n, const void*) {
  guarded_body<F>(in, s, out, n);
}
template <class F>
EMPLACE_TARGET_V3 void guarded_v3(const void* const* in, const int64_t* s, void* out, int64_t n, const void*) {
  guarded_body<F>(in, s, out, n);
}
template <class F>
EMPLACE_TARGET_V4 void guarded_v4(const void* const* in, const int64_t* s, void* out, int64_t n, const void*) {
  guarded_body<F>(in, s, out, n);
}

/// KernelMaker: F where the op computes in float, F::Library for the other types of Ts.
template <class F, class... Ts>
Result<std::unique_ptr<Kernel>> guarded(const KernelInit& init) {
  ElementwiseCode code = elementwise_code<typename F::Library, Ts...>(init.input_types.back());
  if (code.computes_in == DType::kFloat) {
    code.function = for_isa<Tile::Function>(guarded_base<F>, guarded_v3<F>, guarded_v4<F>);
    code.cost_ns = F::kCostNs;
  }
  return make_elementwise(init, std::move(code));
}

/// The integer nearest to x, |x| < 2^51, lies in the low bits of x + kWholeNumbers.
inline constexpr double kWholeNumbers = 0x1.8p52;

/// first + x * (second + x * ...).
template <class... C>
EMPLACE_INLINE double polynomial(double x, double first, C... others) {
  if constexpr (sizeof...(others) == 0)
    return first;
  else
    return first + x * polynomial(x, others...);
}

}  // namespace emplace
