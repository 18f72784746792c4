/// Sizes of a 3-D convolution: volumes are [batch, depth, height, width, channels], or channels second. TensorFlow's
/// padding rules and messages (tensorflow/core/framework/common_shape_fns.cc).
#pragma once

#include <array>

#include "core/ops/conv/conv_shape.h"

namespace emplace {

/// Where batch, the three axes of space and channels stand in a 5-D tensor.
struct VolumeLayout {
  int n = 0;
  std::array<int, 3> space = {1, 2, 3};
  int c = 4;

  /// To a kernel that only asks whether channels are last: the layout of images that are so.
  ImageLayout as_images() const { return c == 4 ? ImageLayout{0, 1, 2, 3} : ImageLayout{0, 2, 3, 1}; }
};
/// NDHWC or NCDHW, by the attr `data_format`.
VolumeLayout volume_layout(const Attrs& attrs);
/// The 5-D shape of volumes in that layout.
Shape volume_shape(const VolumeLayout& at, int64_t n, const std::array<int64_t, 3>& space, int64_t c);

/// One convolution, NDHWC with a DHWIO filter. A size that is not known is -1.
struct VolumeConvShape {
  struct Axis {
    int64_t in = 0, window = 0, out = 0;
    int64_t stride = 1, dilation = 1, pad = 0;  // pad: before
  };
  int64_t batch = 0, in_c = 0, filter_c = 0, out_c = 0;  // filter_c = in_c / groups
  std::array<Axis, 3> axes;

  int64_t groups() const { return filter_c > 0 ? in_c / filter_c : 1; }
  int64_t taps() const { return axes[0].window * axes[1].window * axes[2].window; }
  int64_t pixels() const { return batch * axes[0].out * axes[1].out * axes[2].out; }
  std::array<int64_t, 3> out() const { return {axes[0].out, axes[1].out, axes[2].out}; }
  int64_t in_size() const { return batch * axes[0].in * axes[1].in * axes[2].in * in_c; }
  int64_t filter_size() const { return taps() * filter_c * out_c; }
  int64_t out_size() const { return pixels() * out_c; }
};

/// The sizes of a convolution of `input` (in the layout that the attrs say) with `filter` [d, h, w, in, out].
Result<VolumeConvShape> volume_conv_shape(const Attrs& attrs, const Shape& input, const Shape& filter);

/// The gradient that came in must be that of a convolution of these sizes.
Status check_volume_gradient(const VolumeConvShape& s, const Shape& gradient, const VolumeLayout& at,
                             std::string_view what);

}  // namespace emplace
