/// The loops of depthwise convolution and its gradients, NHWC: every input channel has `multiplier` filters of its own.
#pragma once

#include "core/base/parallel.h"
#include "core/op/tile.h"
#include "core/ops/conv/conv_shape.h"
#include "core/ops/conv/depthwise_rows.h"

namespace emplace {

/// in [n, h, w, c], filter [h, w, c, multiplier], out [n, h, w, c * multiplier]. T: float, double. `sink`, if any, is
/// told of the pixels, row by row.
template <class T>
void depthwise_conv(Parallel& parallel, DepthwiseRow<T> row_code, const ConvShape& s, const T* in, const T* filter,
                    T* out, RowSink* sink);
template <class T>
void depthwise_input_gradient(Parallel& parallel, const ConvShape& s, const T* out_gradient, const T* filter,
                              T* in_gradient);
template <class T>
void depthwise_filter_gradient(Parallel& parallel, const ConvShape& s, const T* in, const T* out_gradient,
                               T* filter_gradient);

}  // namespace emplace
