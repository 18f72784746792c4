/// Squared magnitudes of the discrete Fourier transform of real numbers.
#pragma once

#include <complex>
#include <span>
#include <vector>

#include "core/base/scratch_vector.h"

namespace emplace {

/// Tables for one length. Any number of threads may use one.
class PowerSpectrum {
 public:
  /// REQUIRES: a power of two, at least 2.
  explicit PowerSpectrum(size_t length);
  size_t length() const { return 2 * half_; }
  size_t bins() const { return half_ + 1; }
  /// `values`: length() of them. `powers`: bins().
  void compute(std::span<const double> values, std::span<double> powers) const;

 private:
  using Points = ScratchVector<std::complex<double>>;
  void transform(Points& points) const;

  size_t half_;
  std::vector<std::complex<double>> roots_;  // exp(-2 pi i k / length), k < half
  std::vector<uint32_t> order_;              // the numbers below half, their bits reversed
};

}  // namespace emplace
