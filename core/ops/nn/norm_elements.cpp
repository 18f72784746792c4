#include "core/ops/nn/norm_elements.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/base/scratch_vector.h"
#include "core/ops/kit/convert.h"
#include "core/ops/kit/isa.h"

namespace emplace {
namespace {

constexpr int64_t kHalvesAtOnce = 512;     // halves that are widened at once
constexpr int64_t kElementsAtOnce = 1024;  // about so many elements of whole rows are handled at once
constexpr int64_t kEnoughRows = 4;         // for which factors are worth keeping in registers
constexpr int64_t kWidestLanes = 16;       // floats of a vector then
constexpr int kVectorsAtOnce = 8;          // and so many, of three factors

// What channels are read with, `kVectors` vectors from channel `at` on, stays in registers while row after row passes
// by.
template <int kVectors>
EMPLACE_INLINE void normalise_columns(const float* x, const std::array<const float*, 3>& factors, float* y, int64_t n,
                                      int64_t period, int64_t at) {
  typedef float Vector __attribute__((vector_size(kWidestLanes * sizeof(float))));
  constexpr int64_t kLanes = kWidestLanes, kWidth = kVectors * kLanes;
  constexpr size_t kBytes = sizeof(Vector);
  Vector mean[kVectors], slope[kVectors], offset[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    std::memcpy(&mean[v], factors[0] + at + v * kLanes, kBytes);
    std::memcpy(&slope[v], factors[1] + at + v * kLanes, kBytes);
    std::memcpy(&offset[v], factors[2] + at + v * kLanes, kBytes);
  }
  int64_t i = at;
  for (; i + kWidth <= n; i += period) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      Vector value;
      std::memcpy(&value, x + i + v * kLanes, kBytes);
      value = (value - mean[v]) * slope[v] + offset[v];
      std::memcpy(y + i + v * kLanes, &value, kBytes);
    }
  }
  const int64_t left = std::min(kWidth, n - i);
  int64_t k = 0;
  for (; k + kLanes <= left; k += kLanes) {
    Vector value;
    std::memcpy(&value, x + i + k, kBytes);
    std::memcpy(&mean[0], factors[0] + at + k, kBytes);
    std::memcpy(&slope[0], factors[1] + at + k, kBytes);
    std::memcpy(&offset[0], factors[2] + at + k, kBytes);
    value = (value - mean[0]) * slope[0] + offset[0];
    std::memcpy(y + i + k, &value, kBytes);
  }
  for (; k < left; ++k) y[i + k] = (x[i + k] - factors[0][at + k]) * factors[1][at + k] + factors[2][at + k];
}
// Of as many vectors as there are, at most kVectors.
template <int kVectors>
EMPLACE_INLINE void normalise_rest(const float* x, const std::array<const float*, 3>& factors, float* y, int64_t n,
                                   int64_t period, int64_t at) {
  if constexpr (kVectors > 0) {
    if (period - at >= kVectors * kWidestLanes)
      normalise_columns<kVectors>(x, factors, y, n, period, at);
    else
      normalise_rest<kVectors - 1>(x, factors, y, n, period, at);
  }
}

// `period`, if any: a factor comes again after so many elements. `kInRegisters`: there are registers for them, of 64
// bytes; fewer and narrower ones gain nothing.
template <bool kInRegisters>
EMPLACE_INLINE void normalise_body(const void* const* inputs, const int64_t* strides, void* out, int64_t n,
                                   const void* period) {
  const float *x = static_cast<const float*>(inputs[0]), *mean = static_cast<const float*>(inputs[1]),
              *slope = static_cast<const float*>(inputs[2]), *offset = static_cast<const float*>(inputs[3]);
  float* y = static_cast<float*>(out);
  if (strides[1] == 0) {
    const float m = *mean, s = *slope, o = *offset;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) * s + o;
    return;
  }
  if constexpr (kInRegisters) {
    constexpr int64_t kWidth = kVectorsAtOnce * kWidestLanes;
    const int64_t channels = period ? *static_cast<const int64_t*>(period) : 0;
    if (channels > 0 && channels % kWidestLanes == 0 && kEnoughRows * channels <= n) {
      for (int64_t at = 0; at < channels; at += kWidth)
        normalise_rest<kVectorsAtOnce>(x, {mean, slope, offset}, y, n, channels, at);
      return;
    }
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean[i]) * slope[i] + offset[i];
}
void normalise_base(const void* const* in, const int64_t* s, void* out, int64_t n, const void* p) {
  normalise_body<false>(in, s, out, n, p);
}
EMPLACE_TARGET_V3 void normalise_v3(const void* const* in, const int64_t* s, void* out, int64_t n, const void* p) {
  normalise_body<false>(in, s, out, n, p);
}
EMPLACE_TARGET_V4 void normalise_v4(const void* const* in, const int64_t* s, void* out, int64_t n, const void* p) {
  normalise_body<true>(in, s, out, n, p);
}
Tile::Function normalise_floats() { return for_isa<Tile::Function>(normalise_base, normalise_v3, normalise_v4); }

// Halves block by block, through floats.
template <class T, Tile::Function kFloats>
void normalise_halves(const void* const* inputs, const int64_t* strides, void* out, int64_t n, const void* params) {
  static const ConvertFunction kWiden = widening(dtype_of<T>), kNarrow = narrowing(dtype_of<T>);
  alignas(64) float wide[kHalvesAtOnce];
  const int64_t own[] = {1, strides[1], strides[2], strides[3]};
  for (int64_t first = 0; first < n; first += kHalvesAtOnce) {
    const int64_t count = std::min(kHalvesAtOnce, n - first);
    kWiden(static_cast<const T*>(inputs[0]) + first, wide, count);
    const void* in[] = {wide, nullptr, nullptr, nullptr};
    for (int i = 1; i < 4; ++i) in[i] = static_cast<const float*>(inputs[i]) + first * strides[i];
    kFloats(in, own, wide, count, params);
    kNarrow(wide, static_cast<T*>(out) + first, count);
  }
}

EMPLACE_INLINE void input_gradient_body(const NormInputGradient& g) {
  const float *dy = g.dy, *x = g.x;
  float* dx = g.dx;
  const double *scale = g.factors[0], *level = g.factors[1], *mean = g.factors[2], *tilt = g.factors[3];
  if (g.stride == 0) {
    const double s = *scale, l = *level, m = *mean, t = *tilt;
#pragma GCC ivdep
    for (int64_t i = 0; i < g.n; ++i)
      dx[i] = static_cast<float>(s * (static_cast<double>(dy[i]) - l - (static_cast<double>(x[i]) - m) * t));
    return;
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < g.n; ++i) {
    const double around = static_cast<double>(x[i]) - mean[i];
    dx[i] = static_cast<float>(scale[i] * (static_cast<double>(dy[i]) - level[i] - around * tilt[i]));
  }
}
void input_gradient_base(const NormInputGradient& g) { input_gradient_body(g); }
EMPLACE_TARGET_V3 void input_gradient_v3(const NormInputGradient& g) { input_gradient_body(g); }
EMPLACE_TARGET_V4 void input_gradient_v4(const NormInputGradient& g) { input_gradient_body(g); }

template <class T>
void input_gradient(NormInputGradient::Code code, const T* dy, const T* x, T* dx, int64_t n,
                    const std::array<const double*, 4>& factors, int64_t stride) {
  if constexpr (std::is_same_v<T, float>) {
    code({dy, x, dx, n, factors, stride});
  } else {
    static const ConvertFunction kWiden = widening(dtype_of<T>), kNarrow = narrowing(dtype_of<T>);
    alignas(64) float wide_dy[kHalvesAtOnce], wide_x[kHalvesAtOnce];
    std::array<const double*, 4> from = factors;
    for (int64_t first = 0; first < n; first += kHalvesAtOnce) {
      const int64_t count = std::min(kHalvesAtOnce, n - first);
      kWiden(dy + first, wide_dy, count);
      kWiden(x + first, wide_x, count);
      code({wide_dy, wide_x, wide_x, count, from, stride});
      kNarrow(wide_x, dx + first, count);
      for (const double*& f : from) f += count * stride;
    }
  }
}

/// Factors by channel, as a loop over elements wants them: written out for several rows where channels are innermost.
template <class V, size_t kCount>
class FactorRows {
 public:
  using Factors = std::array<const V*, kCount>;
  FactorRows(const NormLayout& l, const Factors& factors) : l_(l), from_(factors) {
    if (l.inner > 1) return;
    rows_ = std::clamp<int64_t>(kElementsAtOnce / l.channels, 1, l.outer);
    const auto row = static_cast<size_t>(l.channels), all = row * static_cast<size_t>(rows_);
    if (rows_ == 1) return;
    written_.resize(kCount * all);
    for (size_t f = 0; f < kCount; ++f) {
      V* to = written_.data() + f * all;
      for (size_t at = 0; at < all; at += row) std::copy_n(factors[f], row, to + at);
      from_[f] = to;
    }
  }

  /// body(first element, elements, their factors, 1 or 0: how far those are apart)
  template <class Body>
  void run(Parallel& parallel, double cost_ns, const Body& body) const {
    if (l_.inner > 1) {
      parallel.run(l_.outer * l_.channels, cost_ns * static_cast<double>(l_.inner), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          Factors of_channel = from_;
          for (const V*& f : of_channel) f += i % l_.channels;
          body(i * l_.inner, l_.inner, of_channel, 0);
        }
      });
      return;
    }
    parallel.run(l_.outer, cost_ns * static_cast<double>(l_.channels), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; row += rows_) {
        body(row * l_.channels, std::min(rows_, end - row) * l_.channels, from_, 1);
      }
    });
  }

 private:
  const NormLayout& l_;
  Factors from_;
  int64_t rows_ = 1;
  ScratchVector<V> written_;
};

}  // namespace

template <class T>
Tile::Function normalise_code() {
  if constexpr (std::is_same_v<T, float>)
    return normalise_floats();
  else
    return for_isa<Tile::Function>(normalise_halves<T, normalise_base>, normalise_halves<T, normalise_v3>,
                                   normalise_halves<T, normalise_v4>);
}

NormInputGradient::Code NormInputGradient::of_processor() {
  return for_isa<Code>(input_gradient_base, input_gradient_v3, input_gradient_v4);
}

template <class T>
void normalise(Parallel& parallel, Tile::Function code, const NormLayout& l, const T* x,
               const std::array<const float*, 3>& factors, T* y, RowSink* sink) {
  const auto piece = [&](int64_t first, int64_t n, const std::array<const float*, 3>& f, int64_t stride) {
    const void* inputs[] = {x + first, f[0], f[1], f[2]};
    const int64_t strides[] = {1, stride, stride, stride};
    code(inputs, strides, y + first, n, stride == 0 ? nullptr : &l.channels);
    if (sink) sink->finished(first / l.channels, n / l.channels);
  };
  FactorRows<float, 3>(l, factors).run(parallel, 0.2, piece);
}

template <class T>
void norm_input_gradient(Parallel& parallel, NormInputGradient::Code code, const NormLayout& l, const T* dy, const T* x,
                         const std::array<const double*, 4>& factors, T* dx) {
  const auto piece = [&](int64_t first, int64_t n, const std::array<const double*, 4>& f, int64_t stride) {
    input_gradient(code, dy + first, x + first, dx + first, n, f, stride);
  };
  FactorRows<double, 4>(l, factors).run(parallel, 0.4, piece);
}

#define EMPLACE_NORM_ELEMENTS(T)                                                                                      \
  template Tile::Function normalise_code<T>();                                                                        \
  template void normalise(Parallel&, Tile::Function, const NormLayout&, const T*, const std::array<const float*, 3>&, \
                          T*, RowSink*);                                                                              \
  template void norm_input_gradient(Parallel&, NormInputGradient::Code, const NormLayout&, const T*, const T*,        \
                                    const std::array<const double*, 4>&, T*)
EMPLACE_NORM_ELEMENTS(float);
EMPLACE_NORM_ELEMENTS(half);
EMPLACE_NORM_ELEMENTS(bfloat16);
#undef EMPLACE_NORM_ELEMENTS

}  // namespace emplace
