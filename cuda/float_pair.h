/// Long sums of floats to about 48 bits without doubles, of which cards for desktops make two a clock.
#pragma once

#include "cuda/narrow.h"

namespace emplace::cuda {

/// Asked of the bits: a compiler that thinks about x - x goes through all sums that made x, and through each twice.
EMPLACE_HD bool is_finite_float(float x) { return (bits_of_float(x) & 0x7f800000u) != 0x7f800000u; }

/// Knuth's two-sum: what `high` rounds away goes to `low`.
struct FloatPair {
  float high = 0, low = 0;

  EMPLACE_HD void add(float x) {
    const float sum = high + x, part = sum - high;
    low += (high - (sum - part)) + (x - part);
    high = sum;
  }
  /// All bits of x * x.
  EMPLACE_HD void add_square(float x) {
    const float square = x * x;
#ifdef __CUDA_ARCH__
    low += __fmaf_rn(x, x, -square);
#else
    low += static_cast<float>(static_cast<double>(x) * static_cast<double>(x) - static_cast<double>(square));
#endif
    add(square);
  }
  /// False where a sum of floats was too large for one, or one of them was infinite or undefined.
  EMPLACE_HD bool is_finite() const { return is_finite_float(high); }
  /// An infinite or undefined sum is in `high`.
  EMPLACE_HD double value() const {
    return is_finite_float(low) ? static_cast<double>(high) + static_cast<double>(low) : static_cast<double>(high);
  }
};

}  // namespace emplace::cuda
