// What bench calls a difference.
#include "core/report/bench/time_change.h"

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

/// A program whose steps take `us`, half as fast from `slow` to `fast_again` of its 1,000 steps.
StepTimes slowed(double us, size_t slow, size_t fast_again, uint64_t seed) {
  StepTimes steps{times(us, 0.01, 1000, seed), times(10, 0.002, 1000, seed + 100)};
  for (size_t i = slow; i < fast_again; ++i) steps.us[i] *= 2, steps.pace_us[i] *= 2.1;
  return steps;
}

}  // namespace

TEST_CASE("the same distribution is rarely called a difference, another one always", "[bench]") {
  int wrong = 0;
  for (uint64_t seed = 0; seed < 200; ++seed)
    wrong += time_change({times(1000, 0.05, 200, 2 * seed)}, {times(1000, 0.05, 200, 2 * seed + 1)}).seen();
  CHECK(wrong <= 10);
  const TimeChange slower = time_change({times(1000, 0.02, 200, 1)}, {times(1100, 0.02, 200, 2)});
  CHECK(slower.verdict == TimeVerdict::kSlower);
  CHECK(slower.change == Approx(0.1).margin(0.02));
  CHECK(slower.low < slower.change);
  CHECK(slower.high > slower.change);
  CHECK(time_change({times(1000, 0.0001, 200, 1)}, {times(1005, 0.0001, 200, 2)}).verdict ==
        TimeVerdict::kSame);  // < 1 %
}

TEST_CASE("slow steps that others make slow are no difference, and too much noise is no verdict", "[bench]") {
  std::vector<double> disturbed = times(1000, 0.01, 1000, 1);
  for (size_t i = 0; i < disturbed.size(); i += 5) disturbed[i] = disturbed[i + 1] = disturbed[i + 2] = 3000;
  const std::vector<double> quiet = times(1000, 0.01, 1000, 2);
  CHECK_FALSE(
      time_change({quiet}, {disturbed}).seen());  // the median is three times as long, the fastest tenth the same
  std::vector<double> drifting;
  for (const double us : {1000.0, 2500.0, 1200.0, 3000.0, 900.0})
    for (const double v : times(us, 0.01, 100, 3)) drifting.push_back(v);
  CHECK(time_change({drifting}, {drifting}).verdict == TimeVerdict::kNone);
  std::vector<double> longer = drifting;
  for (double& us : longer) us *= 2;
  CHECK(time_change({drifting}, {longer}).verdict == TimeVerdict::kNone);  // no more than it differs from itself
  for (double& us : longer) us *= 10;
  CHECK(time_change({drifting}, {longer}).verdict == TimeVerdict::kSlower);
  CHECK(time_change({{1000}}, {{2000}}).verdict == TimeVerdict::kNone);
}

TEST_CASE("what slows the processor is no difference", "[bench]") {
  const StepTimes calm = slowed(1000, 0, 0, 1), half = slowed(1000, 300, 1000, 2), all = slowed(1000, 0, 1000, 3);
  CHECK(time_change(calm, half).verdict == TimeVerdict::kSame);
  CHECK(time_change(calm, half).compared == Approx(0.3).margin(0.02));
  CHECK(time_change({calm.us}, {all.us}).verdict == TimeVerdict::kSlower);  // nobody has looked
  CHECK_FALSE(time_change(calm, all).seen());
  CHECK(time_change(calm, all).compared == 0);
  CHECK(time_change(all, slowed(1000, 0, 1000, 4)).verdict == TimeVerdict::kSame);  // both alike
  StepTimes beside = calm;
  for (double& us : beside.us) us *= 1.5;
  CHECK(time_change(calm, beside).verdict == TimeVerdict::kSlower);
  beside.others = 0.5;  // and can have taken half of each step
  CHECK_FALSE(time_change(calm, beside).seen());
}

TEST_CASE("of steps on several threads, a difference has to be more than that of the paces", "[bench]") {
  StepTimes calm = slowed(1000, 0, 0, 1), half = slowed(1400, 300, 1000, 2), twice = slowed(2400, 300, 1000, 3);
  CHECK(time_change(calm, half).verdict == TimeVerdict::kSlower);
  for (StepTimes* steps : {&calm, &half, &twice}) steps->pace_threads = 2;
  CHECK(time_change(calm, half).verdict == TimeVerdict::kNone);
  CHECK(time_change(calm, twice).verdict == TimeVerdict::kSlower);
  StepTimes quiet = slowed(1400, 0, 100, 4);
  quiet.pace_threads = 2;
  CHECK(time_change(calm, quiet).verdict == TimeVerdict::kSlower);
}

TEST_CASE("a slower program is seen on a processor that is slowed at times", "[bench]") {
  const StepTimes calm = slowed(1000, 0, 0, 1);
  const TimeChange by_calm = time_change(calm, slowed(1150, 200, 700, 2));
  CHECK(by_calm.verdict == TimeVerdict::kSlower);
  CHECK(by_calm.change == Approx(0.15).margin(0.01));
  CHECK_FALSE(time_change(calm, slowed(1080, 200, 700, 2)).seen());  // neighbours can have made a tenth
  CHECK(time_change(calm, slowed(1080, 0, 200, 2)).verdict == TimeVerdict::kSlower);
  CHECK_FALSE(time_change(calm, slowed(2000, 0, 1000, 2)).seen());  // 4 times as long, and paces 2.1 times
  CHECK(time_change(calm, slowed(3000, 0, 1000, 2)).verdict == TimeVerdict::kSlower);
}
