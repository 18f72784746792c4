/// Mover: copies, fills, and what few kernels need besides, in memory that the CPU's code cannot touch (a GPU's).
/// Kernels that only move elements do so through Parallel (core/ops/kit/element.h, core/ops/kit/strided_copy.h), which
/// hands on to its mover: they run for any memory.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/dtype.h"

namespace emplace {

class Mover {
 public:
  /// Of a box of elements: how far apart, in elements, two neighbours are on either side.
  struct Axis {
    int64_t size = 0, in_stride = 0, out_stride = 0;
  };
  virtual ~Mover() = default;

  /// out[i, j, ...] = in[i, j, ...], outermost axis first; no axis is empty. Calls may return before it is done, and
  /// fail late: whoever made the mover asks it.
  virtual void copy(DType type, std::span<const Axis> axes, const void* in, void* out) = 0;
  /// n copies of the element at `value`, which is host memory and is read before the call returns.
  virtual void fill(DType type, const void* value, void* out, int64_t n) = 0;
  /// out[i, j, ...] += in[i, j, ...] for floating and complex types, int32 and int64; no element is both read and
  /// written.
  virtual void add(DType type, std::span<const Axis> axes, const void* in, void* out) = 0;
  /// out[m, n] = a[m, k] * b[k, n], row-major, for floating and complex types.
  virtual void multiply(DType type, int64_t m, int64_t n, int64_t k, const void* a, const void* b, void* out) = 0;
};

}  // namespace emplace
