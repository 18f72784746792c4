/// Images for kernels: where a pixel's channel lies, in either layout.
#pragma once

#include "core/ops/conv/conv_shape.h"
#include "cuda/launch.h"

namespace emplace::cuda {

struct ImageStrides {
  int64_t n = 0, h = 0, w = 0, c = 0;

  ImageStrides() = default;
  ImageStrides(const Shape& shape, ImageLayout layout) {
    int64_t of[4], stride = 1;
    for (int d = 3; d >= 0; stride *= shape.dim(d--)) of[d] = stride;
    n = of[layout.n];
    h = of[layout.h];
    w = of[layout.w];
    c = of[layout.c];
  }
  __device__ __forceinline__ int64_t offset(int64_t image, int64_t y, int64_t x, int64_t channel) const {
    return image * n + y * h + x * w + channel * c;
  }
};

}  // namespace emplace::cuda
