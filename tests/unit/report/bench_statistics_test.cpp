// Statistics of bench: percentiles and tests.
#include "core/report/bench/statistics.h"

#include <catch2/catch.hpp>

using namespace emplace;

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
