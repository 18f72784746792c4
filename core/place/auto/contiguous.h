/// The best way to cut a linear order of groups into runs, one device each: dynamic programming over (position, devices
/// used). Copies are counted as if every one went through the host's memory.
#pragma once

#include <optional>

#include "core/place/auto/orders.h"
#include "core/place/auto/problem.h"

namespace emplace::autoplace {

/// Nothing: no such cut fits the memory. The sum of runs is least for latency, the longest run for throughput.
/// `host_first`: for throughput, the run on the CPU comes before those on GPUs.
std::optional<Assignment> contiguous(const Problem& problem, const GroupOrder& order, bool host_first);

/// Devices filled in order, each as far as its memory goes; the rest on the CPU.
Assignment filled_in_order(const Problem& problem, const GroupOrder& order);

/// Where a group goes that cannot be on the device wanted for it.
uint16_t fallback_of(const Problem& problem, uint32_t group);

}  // namespace emplace::autoplace
