/// Where the patches of ExtractImagePatches lie: sizes that the shape rule and the kernels of CPU and GPU share.
#pragma once

#include "core/base/shape.h"
#include "core/base/status.h"
#include "core/op/attr_value.h"

namespace emplace {

/// Along one axis: windows of `taps` pixels that stand `rate` apart, a window every `stride` pixels of `in`.
struct PatchAxis {
  int64_t in = 0, out = 0, taps = 0, stride = 1, rate = 1;
  int64_t before = 0;  // pixels of padding that the first window begins with
};

/// [batch, y.in, x.in, depth] becomes [batch, y.out, x.out, y.taps * x.taps * depth].
struct ImagePatches {
  int64_t batch = 0, depth = 0;
  PatchAxis y, x;
  Shape out;
};

/// What TensorFlow says of their values when it makes the kernel, not before.
Status check_patch_attrs(const Attrs& attrs);
/// What the attrs ksizes, strides, rates (each of four 32-bit numbers) and padding make of images of that 4-D shape;
/// sizes that are not known stay -1. InvalidArgument in TensorFlow's words.
Result<ImagePatches> image_patches(const Attrs& attrs, const Shape& images);

}  // namespace emplace
