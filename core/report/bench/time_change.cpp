#include "core/report/bench/time_change.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/report/bench/statistics.h"

namespace emplace {
namespace {

constexpr size_t kStretches = 5;

std::vector<double> logarithms(std::vector<double> values) {
  for (double& v : values) v = std::log(v);
  return values;
}

std::vector<double> stretches(const std::vector<double>& times, double p) {
  return logarithms(stretch_percentiles(times, kStretches, p));
}

double range_of(const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return *most - *least;
}

/// Both sides' steps that are compared.
struct Compared {
  std::vector<double> before, after;
  double share = 1;
  double by_machine = 0;  // as a logarithm: what the machine may have made of a difference
};

/// Ascending.
std::vector<double> ascending(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

double share_at(const std::vector<double>& sorted_paces, double pace) {
  const auto from = std::lower_bound(sorted_paces.begin(), sorted_paces.end(), pace);
  const auto to = std::upper_bound(from, sorted_paces.end(), pace * kOnePace);
  return static_cast<double>(to - from) / static_cast<double>(sorted_paces.size());
}

std::vector<double> steps_at(const StepTimes& times, double pace) {
  std::vector<double> out;
  for (size_t i = 0; i < times.us.size(); ++i) {
    if (times.pace_us[i] >= pace && times.pace_us[i] <= pace * kOnePace) out.push_back(times.us[i]);
  }
  return out;
}

Compared steps_at_one_pace(const StepTimes& before, const StepTimes& after) {
  constexpr double kEnough = 0.1, kFiner = 1.02, kDisturbed = 0.18;
  const std::vector<double> a = ascending(before.pace_us), b = ascending(after.pace_us);
  const double best = std::min(a.front(), b.front()), worst = std::max(a.back(), b.back());
  Compared found{.before = {}, .after = {}, .share = 0};
  double at = best;
  for (double pace = best; pace <= worst; pace *= kFiner) {
    const double share = std::min(share_at(a, pace), share_at(b, pace));
    if (share > found.share) found.share = share, at = pace;
    if (pace == best && share >= kEnough) break;
  }
  if (found.share >= kEnough) found.before = steps_at(before, at), found.after = steps_at(after, at);
  if (std::min(found.before.size(), found.after.size()) >= 2 * kStretches) {
    found.by_machine = at > best * kOnePace ? kDisturbed : 0;
    return found;
  }
  std::vector<double> paces = stretches(before.pace_us, 50);
  for (const double pace : stretches(after.pace_us, 50)) paces.push_back(pace);
  return {before.us, after.us, found.share, 2 * range_of(paces)};
}

/// As a logarithm: how much slower than the best pace three quarters of either side's steps did not get.
double lost_by_neighbours(const StepTimes& before, const StepTimes& after) {
  constexpr double kMost = 75;
  const std::vector<double> a = ascending(before.pace_us), b = ascending(after.pace_us);
  const double slow = std::max(percentile(a, kMost), percentile(b, kMost)) / std::min(a.front(), b.front());
  return slow > kOnePace ? std::log(slow) : 0;
}

Compared what_to_compare(const StepTimes& before, const StepTimes& after) {
  constexpr double kSliceUs = 1000, kMost = 0.99, kOfMemory = 0.1;
  const bool known = before.pace_us.size() == before.us.size() && after.pace_us.size() == after.us.size();
  Compared steps = known ? steps_at_one_pace(before, after) : Compared{before.us, after.us};
  const double lost = known ? lost_by_neighbours(before, after) : 0;
  const bool one_thread = std::max(before.pace_threads, after.pace_threads) == 1;
  steps.by_machine = std::max(steps.by_machine, one_thread ? std::min(lost, kOfMemory) : lost);
  if (std::max(median_of(before.us), median_of(after.us)) < kSliceUs) return steps;
  const double others = std::min(std::max(before.others, after.others), kMost);
  steps.by_machine = std::max(steps.by_machine, -std::log1p(-others));
  return steps;
}

}  // namespace

TimeChange time_change(const StepTimes& before, const StepTimes& after) {
  constexpr double kLeast = 0.01, kLikely = 0.01, kNarrow = 0.05, kFastest = 10, kCalm = 0.2;
  const Compared steps = what_to_compare(before, after);
  const std::vector<double> fast_before = stretches(steps.before, kFastest);
  const std::vector<double> fast_after = stretches(steps.after, kFastest);
  const MeanDifference median = welch(stretches(steps.before, 50), stretches(steps.after, 50));
  const MeanDifference fastest = welch(fast_before, fast_after);
  const double range = std::max(range_of(fast_before), range_of(fast_after));
  TimeChange found;
  found.change = std::expm1(median.mean);
  found.low = std::expm1(median.low), found.high = std::expm1(median.high);
  found.p = std::max(median.p, fastest.p);
  found.compared = steps.share;
  found.by_others = std::expm1(steps.by_machine);
  const double sign = median.mean < 0 ? -1 : 1;
  const bool large = std::min(sign * std::expm1(median.mean), sign * std::expm1(fastest.mean)) >= kLeast;
  const double by_chance = std::max(range * (range > kCalm ? 2 : 1), steps.by_machine);
  if (large && std::abs(fastest.mean) >= by_chance && found.p <= kLikely)
    found.verdict = sign < 0 ? TimeVerdict::kFaster : TimeVerdict::kSlower;
  else if (std::max(found.high - found.change, found.change - found.low) <= kNarrow &&
           std::abs(found.change) <= kNarrow)
    found.verdict = TimeVerdict::kSame;
  return found;
}

std::string_view verdict_text(TimeVerdict verdict) {
  constexpr std::string_view kTexts[] = {"no verdict", "no difference seen", "faster", "slower"};
  return kTexts[static_cast<int>(verdict)];
}

}  // namespace emplace
