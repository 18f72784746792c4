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

enum class TimeVerdict : uint8_t {
  kNone,    // too noisy: a change of 5 % could not be seen
  kSame,    // no difference seen, where one of 5 % would be
  kFaster,  // the median and the fastest tenth are, by at least 1 %, p at most 0.01
  kSlower,
};
/// "no verdict", "no difference seen", "faster", "slower"
std::string_view verdict_text(TimeVerdict verdict);

/// New against old times.
struct TimeChange {
  double change = 0;         // of the median, as a share of the old one: -0.08 is 8 % faster
  double low = 0, high = 0;  // 95 % interval of that
  double p = 1;              // the larger one of those of the median and of the fastest tenth
  TimeVerdict verdict = TimeVerdict::kNone;

  bool seen() const { return verdict == TimeVerdict::kFaster || verdict == TimeVerdict::kSlower; }
};

/// Of a measurement's five stretches, each planned anew, Welch's test compares medians, and again the fastest tenths:
/// what other processes do makes the slow steps slower, what the program does all of them. And fastest tenths have to
/// differ by more than those of one measurement among themselves, by twice that where they do by more than a fifth:
/// then the machine gave the program less at one time than at another. Measured on two cores that others used for 90 %,
/// steps of 6 us, 63 us and 40 ms, all 3,230 pairs of measurements of one program: 23 differed so. Of those made 10 %
/// slower, all of the short steps did; of the long ones there was no verdict. (By medians of twenty stretches and
/// Mann-Whitney's test, a quarter of the pairs differed.) Deterministic. REQUIRES: both have a value.
TimeChange time_change(const std::vector<double>& before, const std::vector<double>& after);

}  // namespace emplace
