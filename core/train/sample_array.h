/// SampleArray: what one placeholder gets from a file: one row per sample, in memory, as the file holds it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"

namespace emplace {

struct SampleArray {
  Tensor values;                 // [rows, ...]
  double scale = 1, offset = 0;  // value * scale + offset, when a sample is read
  std::vector<int64_t> columns;  // of a matrix: those that a sample takes; empty: all

  int64_t rows() const { return values.shape().rank() == 0 ? 0 : values.shape().dim(0); }
  /// Of one sample.
  int64_t elements() const;

  /// Writes these rows one after the other into `out`, converted to its type. A number that an integer type cannot
  /// hold is OutOfRange. REQUIRES: out has rows.size() * elements() elements; numbers or bool on both sides.
  Status gather(std::span<const int64_t> rows, Tensor& out) const;
};

/// Can samples of type `from` feed a placeholder of type `to`? Whole numbers and bool can feed anything; fractions,
/// floating-point types only.
bool can_feed(DType from, DType to, bool scaled);

}  // namespace emplace
