// Statistics of bench: percentiles, Mann-Whitney, and what is called a difference.
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

// The numbers of scipy.stats.mannwhitneyu(x, y, method="asymptotic"), worked out by its formulas in Python.
TEST_CASE("Mann-Whitney has the p of the normal approximation", "[bench]") {
  CHECK(mann_whitney_p({1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}) == Approx(0.012185780355344818));
  CHECK(mann_whitney_p({1, 2, 2, 3}, {2, 3, 3, 4}) == Approx(0.17203370892182296));
  CHECK(mann_whitney_p({5, 5, 5}, {5, 5, 5}) == 1);
}

// The numbers of scipy.stats.wilcoxon(d, correction=True, method="asymptotic"), worked out by its formulas in Python.
TEST_CASE("Wilcoxon has the p of the normal approximation", "[bench]") {
  CHECK(wilcoxon_p({1.5, -0.3, 2.2, 0.7, -0.1, 3.1, 0.9, 1.1, -0.2, 0.4, 1.9, 2.5}) == Approx(0.010787449254670371));
  CHECK(wilcoxon_p({1, 1, -1, 2, 2, -2, 3, 0, 0, 4, 5, -1}) == Approx(0.09978385485027877));
  CHECK(wilcoxon_p({0, 0}) == 1);
}

TEST_CASE("the same distribution is rarely called a difference, another one always", "[bench]") {
  int wrong = 0;
  for (uint64_t seed = 0; seed < 100; ++seed)
    wrong += time_change(times(1000, 0.05, 200, 2 * seed), times(1000, 0.05, 200, 2 * seed + 1)).seen;
  CHECK(wrong <= 5);
  const TimeChange slower = time_change(times(1000, 0.02, 200, 1), times(1100, 0.02, 200, 2));
  CHECK(slower.seen);
  CHECK(slower.change == Approx(0.1).margin(0.02));
  CHECK(slower.low < slower.change);
  CHECK(slower.high > slower.change);
  CHECK_FALSE(time_change(times(1000, 0.0001, 200, 1), times(1005, 0.0001, 200, 2)).seen);  // under 1 %
}

TEST_CASE("where others use the processors, only a factor of four is a difference", "[bench]") {
  const TimeChange slower = time_change(times(1000, 0.02, 200, 1), times(1500, 0.02, 200, 2));
  CHECK(with_others(slower, 0.05).seen);
  CHECK_FALSE(with_others(slower, 0.5).seen);
  CHECK(with_others(slower, 0.5).busy);
  CHECK(with_others(time_change(times(1000, 0.02, 200, 1), times(5000, 0.02, 200, 2)), 0.5).seen);
  CHECK(with_others(time_change(times(5000, 0.02, 200, 1), times(1000, 0.02, 200, 2)), 0.5).seen);
}
