/// The rules of StridedSlice (x[1:-1:2, ..., None, 3]): from the sparse description in its inputs and masks to
/// begin, end and stride of every dimension, and the shape of the result.
#pragma once

#include "core/base/scratch_vector.h"
#include "core/op/attr_value.h"

namespace emplace {

struct SliceMasks {
  int64_t begin = 0, end = 0, ellipsis = 0, new_axis = 0, shrink_axis = 0;
  static SliceMasks of(const Attrs& attrs);
};

struct SliceSpec {
  struct Range {
    int64_t begin = 0, stride = 1, size = 0;  // size -1: not known
  };
  ScratchVector<Range> ranges;  // one for each dimension of the input
  Shape processing;             // the sizes of the ranges
  Shape result;                 // after new axes came and shrunk ones went
};

/// `in` may have unknown sizes, `begin` and `end` may be null: then sizes of the spec are unknown too.
/// REQUIRES: the rank of `in` is known. Fails with TensorFlow's texts.
Result<SliceSpec> resolve_slice(const Shape& in, const Tensor* begin, const Tensor* end, const Tensor& strides,
                                const SliceMasks& masks);

}  // namespace emplace
