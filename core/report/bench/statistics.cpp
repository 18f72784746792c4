#include "core/report/bench/statistics.h"

#include <algorithm>
#include <cmath>
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
  distances.reserve(values.size());
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

std::vector<double> stretch_percentiles(const std::vector<double>& values, size_t stretches, double p) {
  stretches = std::min(stretches, values.size());
  std::vector<double> out;
  for (size_t s = 0; s < stretches; ++s) {
    const auto at = [&](size_t i) {
      return values.begin() + static_cast<std::ptrdiff_t>(values.size() * i / stretches);
    };
    std::vector<double> of_stretch(at(s), at(s + 1));
    std::sort(of_stretch.begin(), of_stretch.end());
    out.push_back(percentile(of_stretch, p));
  }
  return out;
}

namespace {

/// The regularised incomplete beta function, by Lentz's continued fraction (DLMF 8.17.22).
double incomplete_beta(double a, double b, double x) {
  if (x > (a + 1) / (a + b + 2)) return 1 - incomplete_beta(b, a, 1 - x);
  constexpr double kTiny = 1e-300;
  const auto away_from_zero = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), fraction = d;
  for (int m = 1; m < 300; ++m) {
    for (const double term : {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                              -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))}) {
      d = 1 / away_from_zero(1 + term * d);
      c = away_from_zero(1 + term / c);
      fraction *= c * d;
    }
    if (std::abs(c * d - 1) < 1e-15) break;
  }
  return std::exp(a * std::log(x) + b * std::log1p(-x) + std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b)) *
         fraction / a;
}

/// Two-sided, of Student's t.
double student_p(double t, double freedom) {
  return t == 0 ? 1 : incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

/// The t that a share `p` of all is beyond.
double student_t(double p, double freedom) {
  double low = 0, high = 1e6;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (student_p(middle, freedom) > p ? low : high) = middle;
  }
  return low;
}

/// Mean, and the square of its error.
std::pair<double, double> mean_and_error(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double v : values) sum += v;
  for (const double v : values) squares += (v - sum / n) * (v - sum / n);
  return {sum / n, squares / (n - 1) / n};
}

}  // namespace

MeanDifference welch(const std::vector<double>& x, const std::vector<double>& y) {
  MeanDifference found;
  if (x.size() < 2 || y.size() < 2) return found;
  const auto [mean_x, error_x] = mean_and_error(x);
  const auto [mean_y, error_y] = mean_and_error(y);
  // A clock has an end to how finely it tells time: no difference is exact.
  const double error = std::max(error_x + error_y, 1e-12);
  const double of_x = error_x * error_x / static_cast<double>(x.size() - 1);
  const double of_y = error_y * error_y / static_cast<double>(y.size() - 1);
  const double least = static_cast<double>(std::min(x.size(), y.size()) - 1);
  const double freedom =
      of_x + of_y > 0 ? std::max(least, (error_x + error_y) * (error_x + error_y) / (of_x + of_y)) : least;
  const double half = student_t(0.05, freedom) * std::sqrt(error);
  found.mean = mean_y - mean_x;
  found.low = found.mean - half, found.high = found.mean + half;
  found.p = student_p(found.mean / std::sqrt(error), freedom);
  return found;
}

}  // namespace emplace
