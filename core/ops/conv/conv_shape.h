/// Sizes of a 2-D convolution or pooling window: TensorFlow's padding rules and its messages
/// (tensorflow/core/framework/kernel_shape_util.cc, conv_ops.cc).
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/shared.h"
#include "core/base/status.h"
#include "core/op/attr_value.h"
#include "core/op/shape_context.h"

namespace emplace {

/// Where batch, height, width and channels stand in a 4-D tensor.
struct ImageLayout {
  int n, h, w, c;
};
/// NHWC or NCHW, by the attr `data_format`.
ImageLayout image_layout(const Attrs& attrs);
/// The 4-D shape of images in that layout.
Shape image_shape(ImageLayout at, int64_t n, int64_t h, int64_t w, int64_t c);

/// Padding of one axis, or -1 in out if a size is unknown.
struct WindowAxis {
  int64_t out = -1;
  int64_t pad_before = 0, pad_after = 0;
};

/// SAME: out = ceil(in / stride), the odd cell of padding after. VALID: whole windows only. EXPLICIT: as given.
/// `window` counts the window's cells before dilation. InvalidArgument if not even one window fits.
Result<WindowAxis> window_axis(int64_t in, int64_t window, int64_t dilation, int64_t stride, std::string_view padding,
                               int64_t explicit_before = 0, int64_t explicit_after = 0);

/// One convolution, NHWC with an HWIO filter. All sizes known.
struct ConvShape {
  int64_t batch = 0, in_h = 0, in_w = 0, in_c = 0;
  int64_t window_h = 0, window_w = 0, filter_c = 0;  // filter_c = in_c / groups
  int64_t out_h = 0, out_w = 0, out_c = 0;
  int64_t stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t pad_top = 0, pad_left = 0;

  EMPLACE_SHARED int64_t groups() const { return filter_c > 0 ? in_c / filter_c : 1; }
  EMPLACE_SHARED int64_t taps() const { return window_h * window_w; }
  EMPLACE_SHARED int64_t pixels() const { return batch * out_h * out_w; }
};

/// The sizes of a convolution of `input` (in `layout`) with `filter` [h, w, in, out]: attrs strides, padding,
/// dilations, explicit_paddings. InvalidArgument in TensorFlow's words; sizes that are not known become -1.
Result<ConvShape> conv_shape(const Attrs& attrs, const Shape& input, const Shape& filter, bool depthwise);

/// The gradient that came in must be that of a convolution of these sizes.
Status check_gradient(const ConvShape& s, const Shape& gradient, ImageLayout at, std::string_view what);

}  // namespace emplace
