/// ByteSink: where convolutions of bytes put their sums.
#pragma once

#include <cstdint>

namespace emplace {

/// Finished sums of some pixels that follow each other: rows of `cols`, of channel `first` on, `stride` apart.
struct ByteSums {
  const int32_t* sums;
  int64_t stride;
  int64_t pixel, pixels;
  int64_t first, cols;
};

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void take(const ByteSums& sums) const = 0;
};

}  // namespace emplace
