/// What batch normalisation and its gradient do to every element, once the sums over a channel are known.
#pragma once

#include <array>

#include "core/base/parallel.h"
#include "core/op/tile.h"
#include "core/ops/nn/norm_layout.h"

namespace emplace {

/// y = (x - mean) * slope + offset. Inputs: x, and as floats mean, slope and offset, which all have the same stride.
/// Params, if any: an int64_t, the number of elements after which these come again. T: float, half, bfloat16.
template <class T>
Tile::Function normalise_code();

/// That function over a whole image. `factors`: mean, slope, offset by channel; `sink`, if any, is told of rows, which
/// takes channels that are innermost. T: float, half, bfloat16.
template <class T>
void normalise(Parallel& parallel, Tile::Function code, const NormLayout& l, const T* x,
               const std::array<const float*, 3>& factors, T* y, RowSink* sink);

/// dx = scale * (dy - level - (x - mean) * tilt), in double; factors by element (stride 1) or one for all (stride 0).
struct NormInputGradient {
  const float *dy, *x;
  float* dx;
  int64_t n;
  std::array<const double*, 4> factors;  // scale, level, mean, tilt
  int64_t stride;
  using Code = void (*)(const NormInputGradient&);
  static Code of_processor();
};

/// That over a whole image, `factors` by channel.
template <class T>
void norm_input_gradient(Parallel& parallel, NormInputGradient::Code code, const NormLayout& l, const T* dy, const T* x,
                         const std::array<const double*, 4>& factors, T* dx);

}  // namespace emplace
