/// What measured times say: percentiles, outliers, and whether two sets of them differ by more than chance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace emplace {

/// Nearest rank; `sorted` is ascending and not empty, `p` in percent.
double percentile(const std::vector<double>& sorted, double p);
double median_of(std::vector<double> values);
/// Of the distances from the median.
double median_deviation(const std::vector<double>& values);
/// Standard deviation as a share of the mean.
double variation(const std::vector<double>& values);
/// Beyond Tukey's fences: more than 1.5 interquartile ranges outside the quartiles.
int64_t count_outliers(const std::vector<double>& values);

/// Two-sided Wilcoxon signed-rank test by the normal approximation, ties corrected, differences of 0 left out: how
/// likely are these differences of pairs if both of a pair come from one distribution? 1: there are none.
double wilcoxon_p(const std::vector<double>& differences);

/// The difference of two means, y's less x's, by Welch's t test.
struct MeanDifference {
  double mean = 0;
  double low = -1e9, high = 1e9;  // 95 % interval
  double p = 1;                   // two-sided: how likely is one so large if there is none
};
/// Of fewer than two values a side nothing is known.
MeanDifference welch(const std::vector<double>& x, const std::vector<double>& y);

/// Steps that follow each other are alike, so that a thousand of them are not a thousand samples: this percentile of so
/// many runs of neighbours is what a test looks at.
std::vector<double> stretch_percentiles(const std::vector<double>& values, size_t stretches, double p);

}  // namespace emplace
