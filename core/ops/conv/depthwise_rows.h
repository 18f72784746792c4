/// One row of a depthwise convolution, NHWC, where every channel has one filter: a few pixels by a register of channels
/// stay in registers while all taps are added, in the window's order, so that the way a row is cut changes no byte.
#pragma once

#include "core/ops/conv/conv_shape.h"

namespace emplace {

/// Row `y` of the outputs of one image; `out` is where it begins.
template <class T>
using DepthwiseRow = void (*)(const ConvShape& s, const T* image, const T* filter, int64_t y, T* out);

/// As this processor runs it best. T: float, double.
template <class T>
DepthwiseRow<T> depthwise_row();

}  // namespace emplace
