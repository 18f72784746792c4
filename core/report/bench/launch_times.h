/// What nodes take in the run as it is, fused and on several threads: shares of its launches.
#pragma once

#include "core/report/bench/node_costs.h"
#include "core/run/launch_trace.h"

namespace emplace {

/// Fills in NodeCost::in_run_us and split_us, and StepCosts::one_at_a_time. Nodes that are launched as one share its
/// median time as their times one by one are; those that no launch has take none. `step_us`: the median of steps that
/// nobody watched, which says how much of short launches are looks at the clock.
void take_launch_times(const Graph& graph, const LaunchTrace& trace, double step_us, StepCosts& costs);

}  // namespace emplace
