/// What Bincount and DenseBincount count into what: its checks and sizes, for the kernels of CPU and GPU.
#pragma once

#include "core/op/kernel.h"

namespace emplace {

struct BincountLayout {
  int64_t rows = 1, row = 0, size = 0;  // rows of `row` numbers each, counted into `size` bins a row
  bool weighted = false;
  Shape out;

  /// TensorFlow's checks, in its words. `binary`: attr binary_output.
  static Result<BincountLayout> of(const KernelContext& c, bool binary);
  /// Of Bincount, to which numbers of any shape are one row.
  static Result<BincountLayout> of_all(const KernelContext& c);
};

}  // namespace emplace
