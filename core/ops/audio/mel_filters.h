/// Triangular filters whose centres lie evenly on the mel scale of pitch: how strong a spectrum is around each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace emplace {

class MelFilters {
 public:
  struct Design {
    int64_t bins = 0;                // of the spectrum
    double sample_rate = 0;          // Hz
    int64_t channels = 0;            // filters
    double lowest = 0, highest = 0;  // Hz
  };
  /// REQUIRES: at least 2 bins, a channel, a positive rate.
  explicit MelFilters(const Design& design);

  /// False: the limits lie outside of the spectrum, and there is nothing to compute.
  bool fit() const { return first_ >= 0 && last_ >= 0 && last_ < static_cast<int64_t>(weights_.size()); }
  /// `powers`: of the spectrum's bins. `channels`: the filters' sums of their magnitudes. REQUIRES: fit().
  void compute(std::span<const float> powers, std::span<double> channels) const;

 private:
  int64_t first_, last_;          // bins that count
  std::vector<double> weights_;   // by bin: of the filter in whose falling side it lies
  std::vector<int64_t> falling_;  // by bin: that filter, maybe -1; the next one's rising side gets the rest
};

}  // namespace emplace
