#include "core/ops/audio/mel_filters.h"

#include <algorithm>
#include <cmath>

namespace emplace {
namespace {

double mel_of(double hz) { return 1127.0 * std::log1p(hz / 700.0); }

/// -1 for what is no number, or beyond 32 bits.
int64_t bin_number(double bin) { return bin >= 0 && bin <= INT32_MAX ? static_cast<int64_t>(bin) : -1; }

}  // namespace

MelFilters::MelFilters(const Design& d) : weights_(static_cast<size_t>(d.bins)), falling_(static_cast<size_t>(d.bins)) {
  const double lowest = mel_of(d.lowest);
  const double spacing = (mel_of(d.highest) - lowest) / static_cast<double>(d.channels + 1);
  std::vector<double> centres(static_cast<size_t>(d.channels) + 1);
  for (size_t i = 0; i < centres.size(); ++i) centres[i] = lowest + spacing * static_cast<double>(i + 1);
  const double hz_per_bin = 0.5 * d.sample_rate / static_cast<double>(d.bins - 1);
  first_ = bin_number(1.5 + d.lowest / hz_per_bin);
  last_ = bin_number(d.highest / hz_per_bin);
  if (!fit()) return;
  size_t next = 0;  // the first filter whose centre is not below the bin
  for (int64_t i = first_; i <= last_; ++i) {
    const double mel = mel_of(static_cast<double>(i) * hz_per_bin);
    while (next < static_cast<size_t>(d.channels) && centres[next] < mel) ++next;
    const double below = next > 0 ? centres[next - 1] : lowest;
    falling_[static_cast<size_t>(i)] = static_cast<int64_t>(next) - 1;
    weights_[static_cast<size_t>(i)] = (centres[next] - mel) / (centres[next] - below);
  }
}

void MelFilters::compute(std::span<const float> powers, std::span<double> channels) const {
  std::fill(channels.begin(), channels.end(), 0.0);
  for (auto i = static_cast<size_t>(first_); i <= static_cast<size_t>(last_); ++i) {
    const double magnitude = std::sqrt(static_cast<double>(powers[i])), falling = magnitude * weights_[i];
    const int64_t channel = falling_[i];
    if (channel >= 0) channels[static_cast<size_t>(channel)] += falling;
    if (channel + 1 < static_cast<int64_t>(channels.size()))
      channels[static_cast<size_t>(channel + 1)] += magnitude - falling;
  }
}

}  // namespace emplace
