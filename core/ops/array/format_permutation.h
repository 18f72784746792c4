/// The order of dimensions that two data formats (NHWC, NCHW, NDHWC ...) tell: for the kernels of CPU and GPU.
#pragma once

#include <array>

#include "core/op/kernel.h"

namespace emplace {

struct FormatPermutation {
  int size = 0;                 // dimensions
  std::array<int, 5> place{};   // where dimension i of the source stands in the destination
  std::array<int, 5> source{};  // the other way round

  /// Of the attrs src_format and dst_format.
  static Result<FormatPermutation> of(const Attrs& attrs);
  /// Of a vector, or a matrix with a row for each dimension: whole rows, or those of height and width alone.
  Result<FormatPermutation> of_rows(const Attrs& attrs, const Shape& shape) const;
};

}  // namespace emplace
