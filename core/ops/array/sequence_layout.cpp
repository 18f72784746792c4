#include "core/ops/array/sequence_layout.h"

#include <algorithm>

#include "core/base/cat.h"

namespace emplace {

Result<SequenceLayout> SequenceLayout::of(const Shape& input, const Shape& lengths, int64_t seq_dim,
                                          int64_t batch_dim) {
  if (lengths.rank() != 1) return invalid_argument(cat("seq_lengths input must be 1-dim, not ", lengths.rank()));
  if (batch_dim == seq_dim) return invalid_argument(cat("batch_dim == seq_dim == ", seq_dim));
  const int rank = input.rank();
  if (seq_dim < 0) return invalid_argument(cat("Invalid seq_dim ", seq_dim));
  if (seq_dim >= rank) return invalid_argument(cat("seq_dim must be < input rank ( ", seq_dim, " vs. ", rank, ")"));
  if (batch_dim < 0) return invalid_argument(cat("Invalid batch_dim ", batch_dim));
  if (batch_dim >= rank)
    return invalid_argument(cat("batch_dim must be < input rank ( ", batch_dim, " vs. ", rank, ")"));
  const int batch = static_cast<int>(batch_dim), sequence = static_cast<int>(seq_dim);
  if (lengths.dim(0) != input.dim(batch)) {
    return invalid_argument(
        cat("Length of seq_lengths != input.dims(", batch, "), (", lengths.dim(0), " vs. ", input.dim(batch), ")"));
  }
  if (input.num_elements() == 0) return SequenceLayout{};
  const auto [low, high] = std::minmax(batch, sequence);
  SequenceLayout l{input.dim(low), 1, input.dim(high), 1, sequence < batch};
  for (int i = low + 1; i < high; ++i) l.middle *= input.dim(i);
  for (int i = high + 1; i < rank; ++i) l.inner *= input.dim(i);
  return l;
}

}  // namespace emplace
