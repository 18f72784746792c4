/// What each device did in every moment of a step: computed, took copies, waited for data, waited for a thread or had
/// nothing left to do; and what the step's longest chain of launches consists of. From the run as it is.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "core/device/device.h"
#include "core/graph/graph.h"
#include "core/run/launch_trace.h"

namespace emplace {

/// Microseconds of a step. The five parts add up to it.
struct DeviceTime {
  DeviceId device = kNoDevice;
  double compute_us = 0;    // at least one of its launches runs
  double copies_us = 0;     // none does, but a copy to it
  double wait_data_us = 0;  // nothing runs, and nothing that is left has all it reads
  double wait_lane_us = 0;  // something has all it reads, but no thread, or waits for its turn or for memory
  double idle_us = 0;       // nothing is left, or the step has not begun its launches
  // What it waited for longest, of other devices; kNoNode: nothing.
  NodeId waits_for = kNoNode;
  DeviceId waits_on = kNoDevice;
  double waits_for_us = 0;
};

struct StepSplit {
  std::vector<DeviceTime> devices;  // that had something to do; empty: nobody has looked
  // Of the chain of launches that ends last, each held up by the one before it.
  double chain_copies_us = 0;
  double chain_copies = 0;                      // copies of a step
  std::map<uint32_t, double> chain_us_of_copy;  // by the copy's number among the work
};

/// When a step was asked for, and when its results were there; as LaunchSpan has it.
struct StepTime {
  int64_t step = 0;
  int64_t start_ns = 0, end_ns = 0;
};

/// A mean over the middle half of these steps, by how long they took; scaled to `step_us`, what a step takes when
/// nobody looks.
StepSplit split_steps(const Graph& graph, const std::deque<LaunchedWork>& work, std::vector<LaunchSpan> spans,
                      std::vector<StepTime> steps, double step_us);

}  // namespace emplace
