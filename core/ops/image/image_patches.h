/// Where the patches of ExtractImagePatches and ExtractVolumePatches lie: sizes that the shape rule and the kernels of
/// CPU and GPU share.
#pragma once

#include "core/base/shape.h"
#include "core/base/status.h"
#include "core/op/attr_value.h"

namespace emplace {

/// Along one axis: windows of `taps` pixels that stand `rate` apart, a window every `stride` pixels of `in`.
struct PatchAxis {
  int64_t in = 0, out = 0, taps = 0, stride = 1, rate = 1;
  /// Pixels of padding that the first window begins with; of volumes, less than 0: pixels that it leaves out.
  int64_t before = 0;
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

/// [batch, z.in, y.in, x.in, depth] becomes [batch, z.out, y.out, x.out, z.taps * y.taps * x.taps * depth].
struct VolumePatches {
  int64_t batch = 0, depth = 0;
  PatchAxis z, y, x;
  Shape out;
};
/// The same of ksizes and strides, each of five 32-bit numbers, for volumes of that 5-D shape.
Status check_volume_patch_attrs(const Attrs& attrs);
Result<VolumePatches> volume_patches(const Attrs& attrs, const Shape& volumes);

}  // namespace emplace
