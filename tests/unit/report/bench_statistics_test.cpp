// Statistics of bench: percentiles, tests, and what is called a difference.
#include "core/report/bench/statistics.h"

#include <catch2/catch.hpp>
#include <random>

using namespace emplace;

namespace {

/// Times around `us` with a relative noise of `noise`, the same for the same seed.
std::vector<double> times(double us, double noise, size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(us, us * noise);
  std::vector<double> out;
  for (size_t i = 0; i < n; ++i) out.push_back(normal(random));
  return out;
}

}  // namespace

TEST_CASE("percentiles are nearest ranks", "[bench]") {
  const std::vector<double> sorted = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  CHECK(percentile(sorted, 50) == 5);
  CHECK(percentile(sorted, 90) == 9);
  CHECK(percentile(sorted, 99) == 10);
  CHECK(median_of(sorted) == 5.5);
  CHECK(median_deviation(sorted) == 2.5);
}

TEST_CASE("far outliers are counted", "[bench]") {
  CHECK(count_outliers({10, 11, 10, 12, 11, 10, 50}) == 1);
  CHECK(count_outliers({10, 11, 10, 12}) == 0);
}

// R's t.test(extra ~ group, data = sleep), as its manual prints it: t = -1.8608, df = 17.776, p-value = 0.07939.
TEST_CASE("Welch's test has R's p and interval", "[bench]") {
  const MeanDifference found = welch({0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0},
                                     {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4});
  CHECK(found.mean == Approx(1.58));
  CHECK(found.p == Approx(0.07939).margin(5e-6));
  CHECK(found.low == Approx(-0.2054832).margin(5e-7));
  CHECK(found.high == Approx(3.3654832).margin(5e-7));
  CHECK(welch({1}, {2, 3}).p == 1);
}

// The numbers of scipy.stats.wilcoxon(d, correction=True, method="asymptotic"), worked out by its formulas in Python.
TEST_CASE("Wilcoxon has the p of the normal approximation", "[bench]") {
  CHECK(wilcoxon_p({1.5, -0.3, 2.2, 0.7, -0.1, 3.1, 0.9, 1.1, -0.2, 0.4, 1.9, 2.5}) == Approx(0.010787449254670371));
  CHECK(wilcoxon_p({1, 1, -1, 2, 2, -2, 3, 0, 0, 4, 5, -1}) == Approx(0.09978385485027877));
  CHECK(wilcoxon_p({0, 0}) == 1);
}

TEST_CASE("the same distribution is rarely called a difference, another one always", "[bench]") {
  int wrong = 0;
  for (uint64_t seed = 0; seed < 200; ++seed)
    wrong += time_change(times(1000, 0.05, 200, 2 * seed), times(1000, 0.05, 200, 2 * seed + 1)).seen();
  CHECK(wrong <= 10);
  const TimeChange slower = time_change(times(1000, 0.02, 200, 1), times(1100, 0.02, 200, 2));
  CHECK(slower.verdict == TimeVerdict::kSlower);
  CHECK(slower.change == Approx(0.1).margin(0.02));
  CHECK(slower.low < slower.change);
  CHECK(slower.high > slower.change);
  CHECK(time_change(times(1000, 0.0001, 200, 1), times(1005, 0.0001, 200, 2)).verdict == TimeVerdict::kSame);  // < 1 %
}

TEST_CASE("slow steps that others make slow are no difference, and too much noise is no verdict", "[bench]") {
  std::vector<double> disturbed = times(1000, 0.01, 1000, 1);
  for (size_t i = 0; i < disturbed.size(); i += 5) disturbed[i] = disturbed[i + 1] = disturbed[i + 2] = 3000;
  const std::vector<double> quiet = times(1000, 0.01, 1000, 2);
  CHECK_FALSE(time_change(quiet, disturbed).seen());  // the median is three times as long, the fastest tenth the same
  std::vector<double> drifting;
  for (const double us : {1000.0, 2500.0, 1200.0, 3000.0, 900.0})
    for (const double v : times(us, 0.01, 100, 3)) drifting.push_back(v);
  CHECK(time_change(drifting, drifting).verdict == TimeVerdict::kNone);
  std::vector<double> longer = drifting;
  for (double& us : longer) us *= 2;
  CHECK(time_change(drifting, longer).verdict == TimeVerdict::kNone);  // no more than it differs from itself
  for (double& us : longer) us *= 10;
  CHECK(time_change(drifting, longer).verdict == TimeVerdict::kSlower);
  CHECK(time_change({1000}, {2000}).verdict == TimeVerdict::kNone);
}
