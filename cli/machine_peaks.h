/// What this machine's processor can do at most, measured in some 30 ms: the measure of `emplace bench`'s "bound by".
#pragma once

#include <string>

#include "core/report/bench/bench_report.h"

namespace emplace {

/// Multiplications and additions of float32 in registers, and copies of memory that no cache holds, on so many threads.
MachinePeaks measure_peaks(int threads);

/// "Intel(R) Xeon(R) ..., 2 processors": tells machines apart.
std::string machine_name();

}  // namespace emplace
