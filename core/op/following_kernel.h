/// FollowingKernel: a kernel that makes each piece of its output from a run of rows of input 0, as a pooling makes a
/// row of pixels from the rows of the image under its windows. It can follow what makes those rows, piece by piece,
/// while they are in cache; the bytes are those of run().
#pragma once

#include <cstdint>

#include "core/op/kernel.h"

namespace emplace {

class FollowingKernel : public Kernel {
 public:
  /// Rows of the last dimension, counted over all others.
  struct Rows {
    int64_t begin = 0, end = 0;
  };
  /// After prepare(): how many pieces there are; 0: it cannot follow, for these shapes.
  virtual int64_t pieces() const = 0;
  /// What a piece reads, at least one row. Neither end is less than that of the piece before.
  virtual Rows rows_of(int64_t piece) const = 0;
  /// Makes one piece; several at once, from any workers.
  virtual void run_piece(KernelContext& c, int64_t piece) const = 0;
};

}  // namespace emplace
