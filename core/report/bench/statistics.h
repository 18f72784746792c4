/// What measured times say: percentiles, outliers, and whether two sets of them differ by more than chance.
#pragma once

#include <cstddef>
#include <cstdint>
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

/// Two-sided Mann-Whitney test by the normal approximation, ties corrected: how likely are samples so far apart if both
/// come from one distribution? REQUIRES: both have a value.
double mann_whitney_p(const std::vector<double>& x, const std::vector<double>& y);

/// Two-sided Wilcoxon signed-rank test by the normal approximation, ties corrected, differences of 0 left out: how
/// likely are these differences of pairs if both of a pair come from one distribution? 1: there are none.
double wilcoxon_p(const std::vector<double>& differences);

/// Steps that follow each other are alike, so that a thousand of them are not a thousand samples: the medians of so
/// many runs of neighbours are what a test looks at.
std::vector<double> block_medians(const std::vector<double>& values, size_t blocks);

/// New against old times.
struct TimeChange {
  double change = 0;         // of the median, as a share of the old one: -0.08 is 8 % faster
  double low = 0, high = 0;  // 95 % interval of that, by bootstrap
  double p = 1;
  bool seen = false;  // at least 1 %, p at most 0.05, and the interval does not hold 0
  bool busy = false;  // others used the processors meanwhile: only a factor of four counts as seen
};

/// Deterministic. REQUIRES: both have a value.
TimeChange time_change(const std::vector<double>& before, const std::vector<double>& after);
/// The same where others used so much of the machine's processors meanwhile (0 to 1, the larger of both times): from a
/// tenth on, what they do is a difference, too, which no test can tell from one of the program.
TimeChange with_others(TimeChange change, double share);

}  // namespace emplace
