#include "core/report/bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace emplace {

double percentile(const std::vector<double>& sorted, double p) {
  const auto n = static_cast<double>(sorted.size());
  const auto rank = static_cast<size_t>(std::max(1.0, std::ceil(p / 100 * n)));
  return sorted[std::min(rank, sorted.size()) - 1];
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const size_t half = values.size() / 2;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(half);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double median_deviation(const std::vector<double>& values) {
  const double median = median_of(values);
  std::vector<double> distances;
  for (const double v : values) distances.push_back(std::abs(v - median));
  return median_of(std::move(distances));
}

double variation(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  double sum = 0, squares = 0;
  for (const double v : values) sum += v;
  const double mean = sum / static_cast<double>(values.size());
  for (const double v : values) squares += (v - mean) * (v - mean);
  return mean > 0 ? std::sqrt(squares / static_cast<double>(values.size() - 1)) / mean : 0;
}

int64_t count_outliers(const std::vector<double>& values) {
  if (values.size() < 4) return 0;
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const double low = percentile(sorted, 25), high = percentile(sorted, 75), fence = 1.5 * (high - low);
  return std::count_if(sorted.begin(), sorted.end(), [&](double v) { return v < low - fence || v > high + fence; });
}

double mann_whitney_p(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<std::pair<double, bool>> all;  // value, is it x's
  for (const double v : x) all.emplace_back(v, true);
  for (const double v : y) all.emplace_back(v, false);
  std::sort(all.begin(), all.end());
  double rank_sum = 0, ties = 0;
  for (size_t i = 0; i < all.size();) {
    size_t end = i;
    while (end < all.size() && all[end].first == all[i].first) ++end;
    const double rank = static_cast<double>(i + end + 1) / 2, same = static_cast<double>(end - i);
    ties += same * same * same - same;
    for (; i < end; ++i) rank_sum += all[i].second ? rank : 0;
  }
  const auto m = static_cast<double>(x.size()), n = static_cast<double>(y.size()), whole = m + n;
  const double u = rank_sum - m * (m + 1) / 2;
  const double variance = m * n / 12 * (whole + 1 - ties / (whole * (whole - 1)));
  if (!(variance > 0)) return 1;
  const double distance =
      std::max(0.0, std::abs(u - m * n / 2) - 0.5);  // 0.5: ranks are whole, the normal curve is not
  return std::erfc(distance / std::sqrt(variance) / std::sqrt(2.0));
}

double wilcoxon_p(const std::vector<double>& differences) {
  std::vector<std::pair<double, bool>> sizes;  // is it above 0
  for (const double d : differences) {
    if (d != 0) sizes.emplace_back(std::abs(d), d > 0);
  }
  std::sort(sizes.begin(), sizes.end());
  double above = 0, ties = 0;
  for (size_t i = 0; i < sizes.size();) {
    size_t end = i;
    while (end < sizes.size() && sizes[end].first == sizes[i].first) ++end;
    const double rank = static_cast<double>(i + end + 1) / 2, same = static_cast<double>(end - i);
    ties += same * same * same - same;
    for (; i < end; ++i) above += sizes[i].second ? rank : 0;
  }
  const auto n = static_cast<double>(sizes.size());
  const double variance = n * (n + 1) * (2 * n + 1) / 24 - ties / 48;
  if (!(variance > 0)) return 1;
  const double distance = std::max(0.0, std::abs(above - n * (n + 1) / 4) - 0.5);
  return std::erfc(distance / std::sqrt(variance) / std::sqrt(2.0));
}

std::vector<double> block_medians(const std::vector<double>& values, size_t blocks) {
  blocks = std::min(blocks, values.size());
  std::vector<double> medians;
  for (size_t b = 0; b < blocks; ++b) {
    const auto at = [&](size_t block) {
      return values.begin() + static_cast<std::ptrdiff_t>(values.size() * block / blocks);
    };
    medians.push_back(median_of({at(b), at(b + 1)}));
  }
  return medians;
}

TimeChange time_change(const std::vector<double>& before, const std::vector<double>& after) {
  constexpr size_t kBlocks = 20;
  constexpr int kResamples = 2000;
  constexpr double kLeast = 0.01, kLikely = 0.05;
  const std::vector<double> x = block_medians(before, kBlocks), y = block_medians(after, kBlocks);
  TimeChange found;
  found.change = median_of(after) / median_of(before) - 1;
  found.p = mann_whitney_p(x, y);
  std::mt19937_64 random(1);
  const auto resampled = [&](const std::vector<double>& values) {
    std::vector<double> drawn;
    for (size_t i = 0; i < values.size(); ++i) drawn.push_back(values[random() % values.size()]);
    return median_of(std::move(drawn));
  };
  std::vector<double> changes;
  for (int i = 0; i < kResamples; ++i) {
    const double old = resampled(x);
    changes.push_back(resampled(y) / old - 1);
  }
  std::sort(changes.begin(), changes.end());
  found.low = percentile(changes, 2.5);
  found.high = percentile(changes, 97.5);
  found.seen = std::abs(found.change) >= kLeast && found.p <= kLikely && (found.low > 0 || found.high < 0);
  return found;
}

TimeChange with_others(TimeChange change, double share) {
  constexpr double kBusy = 0.1, kSlower = 3, kFaster = -0.75;
  change.busy = share > kBusy;
  if (change.busy) change.seen = change.seen && (change.low > kSlower || change.high < kFaster);
  return change;
}

}  // namespace emplace
