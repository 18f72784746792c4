/// SampleOrder: in which order an epoch takes the samples: the file's, or a permutation that seed and epoch determine,
/// the same on every machine and for every number of replicas.
#pragma once

#include <cstdint>
#include <vector>

namespace emplace {

/// What has been taken: `row` samples of an epoch. Epochs count from 0.
struct DataPosition {
  int64_t epoch = 0, row = 0;
};

/// Fisher and Yates' shuffle of 0..rows-1 with the words of Philox(key = seed, counter = epoch << 64).
std::vector<int64_t> permutation(uint64_t seed, int64_t epoch, int64_t rows);

class SampleOrder {
 public:
  /// `batch` 0: all rows. REQUIRES: rows > 0; with `drop_remainder` rows >= batch.
  SampleOrder(int64_t rows, int64_t batch, bool shuffle, bool drop_remainder, uint64_t seed);

  int64_t batch() const { return batch_; }
  int64_t batches_per_epoch() const { return (used_rows_ + batch_ - 1) / batch_; }
  /// The rows of the batch there; moves on behind it. At the end of an epoch the position is the next one's start.
  std::vector<int64_t> take(DataPosition& position);

 private:
  int64_t rows_, batch_, used_rows_;
  bool shuffle_;
  uint64_t seed_;
  int64_t shuffled_epoch_ = -1;
  std::vector<int64_t> order_;  // of shuffled_epoch_
};

}  // namespace emplace
