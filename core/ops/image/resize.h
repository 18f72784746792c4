/// Image resizing: where an output pixel lies in the input (TensorFlow's three conventions), and the checks and the
/// shape rule that all resizing ops share.
#pragma once

#include <cmath>

#include "core/op/kernel.h"
#include "core/op/shape_context.h"

namespace emplace {

struct ResizeAttrs {
  bool align_corners = false, half_pixel_centers = false;
  static ResizeAttrs of(const Attrs& attrs);
  /// Fails for both at once.
  Status check() const;
  /// Input pixels per output pixel, in float as TensorFlow has it.
  float scale(int64_t in, int64_t out) const {
    return align_corners && out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                                    : static_cast<float>(in) / static_cast<float>(out);
  }
};

/// Images to the height and width in input 1, channels last.
Status resize_shape(ShapeContext& c);
/// [batch, height, width, channels] of the result: `image`'s batch and channels, height and width from `size`.
Result<Shape> resized_shape(const Shape& image, const Tensor& size);
/// InvalidArgument: not the gradient of a resized `image`.
Status check_resized_gradient(const Shape& grads, const Shape& image);

/// The numbers of that input in floats; `scratch` holds them if it has another type.
Result<const float*> float_pixels(KernelContext& c, int input, Tensor& scratch);

}  // namespace emplace
