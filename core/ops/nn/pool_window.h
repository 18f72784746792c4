/// The windows of 2-D pooling: TensorFlow's rules for ksize, strides and padding, and which cells of the image each
/// window really covers. Images in NCHW are seen as batch x channels images of one channel.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/op/kernel.h"
#include "core/ops/conv/conv_shape.h"

namespace emplace {

/// The attrs of a pooling op. Without ksize and strides where these are the last two inputs (MaxPoolV2).
struct PoolAttrs {
  std::vector<int64_t> ksize, strides, explicit_paddings;
  std::string padding;
  ImageLayout layout;
  static PoolAttrs of(const Attrs& attrs);
};

/// The pooled shape of images (partly known sizes allowed), or why there is none. `name` is for the messages.
Result<Shape> pooled_shape(const PoolAttrs& pool, const Shape& image, std::string_view name);

/// One axis: window `o` starts at o * stride - before; only cells in [0, size) are real.
struct PoolAxis {
  int64_t size = 0, out = 0, window = 1, stride = 1, before = 0;
  int64_t begin(int64_t o) const { return std::max<int64_t>(o * stride - before, 0); }
  int64_t end(int64_t o) const {
    int64_t start = o * stride - before;
    return start > size - window ? size : start + window;  // written so that a huge window does not overflow
  }
};

struct PoolWindow {
  int64_t batch = 0, channels = 0;
  PoolAxis h, w;
  int64_t depth_window = 1;  // pooling over channels: windows side by side
  Shape out;                 // in the op's layout

  /// Checks what TensorFlow's kernels check.
  static Result<PoolWindow> of(const PoolAttrs& pool, const Shape& image, std::string_view name);
};

/// `pool` with the ksize and strides that two tensors of int32 say.
PoolAttrs with_windows(PoolAttrs pool, const Tensor& ksize, const Tensor& strides);
/// The windows over input 0 of a kernel: those of the attrs, or of its last two inputs.
Result<PoolWindow> pool_window(const PoolAttrs& pool, const KernelContext& c, std::string_view name);

/// The windows of MaxPoolWithArgmax, over height and width only, of an image that is not empty.
Result<PoolWindow> argmax_window(const PoolAttrs& pool, const Shape& image);
/// Do gradient (input 1) and places (input 2) of MaxPoolGradWithArgmax fit the image (input 0)?
Status check_argmax_gradient(const PoolAttrs& pool, const KernelContext& c);

/// The windows of MaxPoolGradGrad of image, pooled image and the image's gradient, which must fit each other.
Result<PoolWindow> max_pool_grad_grad_window(const PoolAttrs& pool, const KernelContext& c);

}  // namespace emplace
