/// The loops of depthwise convolution and its gradients, NHWC: every input channel has `multiplier` filters of its own.
#pragma once

#include "core/base/parallel.h"
#include "core/ops/conv/conv_shape.h"

namespace emplace {

/// in [n, h, w, c], filter [h, w, c, multiplier], out [n, h, w, c * multiplier]. T: float, double.
template <class T>
void depthwise_conv(Parallel& parallel, const ConvShape& s, const T* in, const T* filter, T* out);
template <class T>
void depthwise_input_gradient(Parallel& parallel, const ConvShape& s, const T* out_gradient, const T* filter,
                              T* in_gradient);
template <class T>
void depthwise_filter_gradient(Parallel& parallel, const ConvShape& s, const T* in, const T* out_gradient,
                               T* filter_gradient);

}  // namespace emplace
