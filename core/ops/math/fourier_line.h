/// Fourier: the discrete Fourier transform of a line of numbers, computed in double.
#pragma once

#include <cmath>
#include <numbers>
#include <utility>

#include "core/base/scratch_vector.h"
#include "core/ops/kit/numeric.h"

namespace emplace {

using Wave = ScratchVector<complex128>;

inline complex128 times(complex128 a, complex128 b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// The transform of one length: by halves (Cooley and Tukey) for a power of two, else as a convolution (Bluestein).
class Fourier {
 public:
  /// `sign`: of the exponent, -1 there and 1 back. Nothing is divided by the length.
  Fourier(int64_t n, int sign) : n_(static_cast<size_t>(n)) {
    while (padded_ < n_) padded_ *= 2;
    if (padded_ == n_) {
      roots_ = roots_of(n_, sign);
      return;
    }
    padded_ = 1;
    while (padded_ < 2 * n_ - 1) padded_ *= 2;
    roots_ = roots_of(padded_, -1);
    chirp_.resize(n_);
    for (size_t k = 0; k < n_; ++k) {  // k^2 modulo 2 n keeps the angle small
      const double angle = sign * std::numbers::pi * static_cast<double>(k * k % (2 * n_)) / static_cast<double>(n_);
      chirp_[k] = {std::cos(angle), std::sin(angle)};
    }
    filter_.assign(padded_, complex128(0));
    for (size_t k = 0; k < n_; ++k) filter_[k] = filter_[(padded_ - k) % padded_] = std::conj(chirp_[k]);
    halves(filter_);
  }

  void run(Wave& x) const {
    if (chirp_.empty()) return halves(x);
    Wave a(padded_);
    for (size_t k = 0; k < n_; ++k) a[k] = times(x[k], chirp_[k]);
    halves(a);
    for (size_t k = 0; k < padded_; ++k) a[k] = std::conj(times(a[k], filter_[k]));
    halves(a);  // of the conjugates: the way back
    for (size_t k = 0; k < n_; ++k) x[k] = times(std::conj(a[k]) / static_cast<double>(padded_), chirp_[k]);
  }

 private:
  static Wave roots_of(size_t n, int sign) {
    Wave roots(n / 2);
    for (size_t k = 0; k < n / 2; ++k) {
      const double angle = sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
      roots[k] = {std::cos(angle), std::sin(angle)};
    }
    return roots;
  }

  void halves(Wave& x) const {
    const size_t n = x.size();
    for (size_t i = 1, j = 0; i < n; ++i) {
      size_t bit = n / 2;
      for (; j & bit; bit /= 2) j ^= bit;
      j ^= bit;
      if (i < j) std::swap(x[i], x[j]);
    }
    for (size_t half = 1; half < n; half *= 2) {
      for (size_t begin = 0; begin < n; begin += 2 * half) {
        for (size_t k = 0; k < half; ++k) {
          const complex128 low = x[begin + k], high = times(x[begin + k + half], roots_[k * (n / 2 / half)]);
          x[begin + k] = low + high;
          x[begin + k + half] = low - high;
        }
      }
    }
  }

  size_t n_, padded_ = 1;
  Wave roots_, chirp_, filter_;
};

}  // namespace emplace
