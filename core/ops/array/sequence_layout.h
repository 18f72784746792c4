/// A tensor as ReverseSequence sees it: [outer, first, middle, second, inner], where the batch and the sequence are
/// `first` and `second` in one order or the other.
#pragma once

#include <cstdint>

#include "core/base/shape.h"
#include "core/base/status.h"

namespace emplace {

struct SequenceLayout {
  int64_t first = 0, middle = 0, second = 0, inner = 0;  // all 0 for a tensor without elements
  bool sequence_first = false;

  /// TensorFlow's checks of the shapes, in its words. `lengths`: the shape of seq_lengths.
  static Result<SequenceLayout> of(const Shape& input, const Shape& lengths, int64_t seq_dim, int64_t batch_dim);
};

}  // namespace emplace
