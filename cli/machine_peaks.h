/// What this machine's processor can do at most, measured in some 30 ms: the measure of `emplace bench`'s "bound by".
#pragma once

#include "core/report/bench/bench_report.h"

namespace emplace {

/// Multiplications and additions of float32 in registers, and copies of memory that no cache holds, on so many threads.
MachinePeaks measure_peaks(int threads);

/// How much of the machine's processors other processes use, from its making on.
class BusyMeter {
 public:
  BusyMeter();
  /// 0 to 1; 0 where nobody can tell.
  double others() const;

 private:
  const double start_s_, busy_s_, own_s_;
};

}  // namespace emplace
