/// The windows of grey-scale dilation (Dilation2D): for the kernels of CPU and GPU.
#pragma once

#include "core/base/shared.h"
#include "core/op/kernel.h"
#include "core/op/shape_context.h"

namespace emplace {

struct DilationAxis {
  int64_t in = 0, taps = 0, out = 0, stride = 1, rate = 1, before = 0;
  EMPLACE_SHARED int64_t begin(int64_t o) const { return o * stride - before; }
};

struct DilationWindow {
  int64_t batch = 0, depth = 0;
  DilationAxis h, w;
  Shape out;

  /// Of images [batch, height, width, depth] and a filter [height, width, depth]; sizes that are not known become -1.
  static Result<DilationWindow> of(const Attrs& attrs, const Shape& image, const Shape& filter);
  /// What TensorFlow's kernels refuse, also where its shape rule does not.
  static Result<DilationWindow> of_run(const Attrs& attrs, const KernelContext& c);
};

}  // namespace emplace
