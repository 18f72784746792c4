/// Sizes of a gather (Gather, GatherV2, ResourceGather), worked out from shapes for the kernels on CPU and GPU.
#pragma once

#include "core/base/shape.h"
#include "core/base/status.h"

namespace emplace {

/// params is [batch, outer, size, inner], indices [batch, chosen], the result [batch, outer, chosen, inner].
struct GatherSizes {
  int64_t batch = 1, outer = 1, size = 0, inner = 1, chosen = 1;
};

struct GatherGeometry {
  GatherSizes sizes;
  Shape out;

  /// `axis` and `batch_dims` count from the end where they are negative. The texts of the errors are TensorFlow's
  /// (tensorflow/core/kernels/gather_op.cc).
  static Result<GatherGeometry> make(const Shape& params, const Shape& indices, int64_t axis, int64_t batch_dims);
};

}  // namespace emplace
