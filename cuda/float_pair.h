/// Long sums of floats to about 48 bits without doubles, of which cards for desktops make two a clock.
#pragma once

#include "cuda/device_code.h"

namespace emplace::cuda {

/// Knuth's two-sum: what `high` rounds away goes to `low`.
struct FloatPair {
  float high = 0, low = 0;

  EMPLACE_HD void add(float x) {
    const float sum = high + x, part = sum - high;
    low += (high - (sum - part)) + (x - part);
    high = sum;
  }
  /// An infinite or undefined sum is in `high`.
  EMPLACE_HD double value() const {
    return low - low == 0 ? static_cast<double>(high) + static_cast<double>(low) : static_cast<double>(high);
  }
};

}  // namespace emplace::cuda
