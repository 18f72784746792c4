/// The devices of a `bench`: how much of a step each was busy, what it did the rest of the time, and its memory.
#pragma once

#include <string>

#include "core/base/json_writer.h"
#include "core/report/bench/bench_report.h"

namespace emplace {

/// Times add up to the step. Of real GPUs, whose launches last longer than their enqueueing, only the work is known,
/// from the pass that runs one node at a time.
std::string device_table(const BenchReport& report);
/// "* GPU:1 waits 38 % of the step for data: most of it for layer3/mm on GPU:0", and how much of the step copies hold
/// up.
std::string device_hints(const BenchReport& report);
/// The members "device_times" and "critical_path".
void write_device_times(JsonWriter& json, const BenchReport& report);

}  // namespace emplace
