/// StridedCopy: out[i, j, ...] = in[i, j, ...] over a box of elements where both sides have strides of their own:
/// transpose (permuted strides), slice, reverse (negative), broadcast and tile (stride 0), pad (a box inside the
/// output).
#pragma once

#include "core/base/mover.h"
#include "core/base/parallel.h"
#include "core/base/scratch_vector.h"
#include "core/base/shape.h"

namespace emplace {

struct StridedCopy {
  using Axis = Mover::Axis;  // no two indices may meet in the output
  ScratchVector<Axis> axes;  // outermost first
  int64_t in_offset = 0, out_offset = 0;

  void add(int64_t size, int64_t in_stride, int64_t out_stride) { axes.push_back({size, in_stride, out_stride}); }
  /// REQUIRES: every index the axes reach lies in the buffers, which do not overlap.
  void run(Parallel& parallel, DType type, const void* in, void* out) const;
};

/// Elements from one index to the next of each dimension, row-major. REQUIRES: a complete shape.
ScratchVector<int64_t> row_major_strides(const Shape& shape);

}  // namespace emplace
