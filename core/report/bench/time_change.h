/// Whether steps take longer than they did: two measurements, told apart from what the machine does to both.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace emplace {

/// Steps whose paces differ by less ran at one pace.
inline constexpr double kOnePace = 1.05;

/// Times of steps in the order in which they ran, and how fast the processor was meanwhile.
struct StepTimes {
  std::vector<double> us = {};
  std::vector<double> pace_us = {};  // of each step: what a fixed piece of work took beside it; empty: unknown
  int pace_threads = 1;              // that the paces are of: as many as the steps used
  double others = 0;                 // share of the machine's processors that other processes used meanwhile
};

enum class TimeVerdict : uint8_t {
  kNone,    // too noisy: a change of 5 % could not be seen
  kSame,    // no difference seen, where one of 5 % would be, nor one of 5 % or more
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
  double compared = 1;       // share of the steps that were, of the side with fewer
  double by_others = 0;      // a change as large as this can be what others took of the machine
  TimeVerdict verdict = TimeVerdict::kNone;

  bool seen() const { return verdict == TimeVerdict::kFaster || verdict == TimeVerdict::kSlower; }
};

/// Of a measurement's five stretches, each planned anew, Welch's test compares medians, and again the fastest tenths:
/// what other processes do makes the slow steps slower, what the program does all of them. And fastest tenths have to
/// differ by more than those of one measurement among themselves, by twice that where they do by more than a fifth:
/// then the machine gave the program less at one time than at another.
///
/// A processor that is shared (a virtual machine's, or one whose other thread is busy) can be half as fast for seconds,
/// which no process sees in its own share of it. So only steps at one pace are compared, to 5 %: the best one of both
/// measurements if a tenth of each ran at it, else the one that most did, where a fifth is no difference; and if none
/// has a tenth of both, all steps, and a difference has to be twice that of the paces. Of steps longer than a
/// scheduler's slice, others take their share whatever the pace: a difference has to be more than that.
/// Of steps on several threads the pace tells less: two processors can share one core's units for products, which the
/// fixed work does not use, and neighbours take from the cache and the memory. So unless three quarters of both
/// measurements' steps ran at the best pace, a difference has to be more than that of the paces; of steps on one
/// thread, more than a tenth.
///
/// Measured on such a machine, pairs of one program called "faster" or "slower": none of 160, a quarter each of steps
/// of 1 us, of one and of twelve products, and of a CNN on two threads, half of them without a verdict. Before a tenth
/// was asked for, 3 of 40 of the first, by up to 9 % (without paces 6, by up to 40 %); before the paces of all threads
/// were known, 26 of 182 of the last, by up to 48 %. A step that takes 47 % longer: 7 of 7 seen on one thread, 3 of 6
/// on two.
///
/// Deterministic. REQUIRES: both have a step.
TimeChange time_change(const StepTimes& before, const StepTimes& after);

}  // namespace emplace
