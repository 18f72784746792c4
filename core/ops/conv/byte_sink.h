/// ByteSink: where convolutions of bytes put their sums.
#pragma once

#include <cstdint>

namespace emplace {

/// Receives finished sums: `cols` of them, of channel `first` on, of a pixel.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void take(const int32_t* sums, int64_t pixel, int64_t first, int64_t cols) const = 0;
};

}  // namespace emplace
