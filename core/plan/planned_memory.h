/// What a run will take of each device's memory, worked out without running a kernel or touching a device.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/partition/step_request.h"
#include "core/place/placement.h"
#include "core/plan/plan.h"

namespace emplace {

/// Bytes on one device.
struct PlannedMemory {
  int64_t block = 0;  // that planned tensors share
  int64_t variables = 0;
  /// The graph's, and what is fed, in the host's memory; those in a GPU's; and as kernels keep them, from their first
  /// run on.
  int64_t constants = 0;
  int64_t scratch = 0;  // the most that one kernel takes for the time of its run
  bool known = true;    // false: some tensor's shape, or a variable's, is known to a run only, and not counted
  bool workspaces =
      true;  // false: nobody knows here what the device's kernels keep and take for their work, and it is not counted
  std::vector<std::pair<std::string, int64_t>> live_at_peak;  // producer, bytes; largest first; they add up to peak()

  int64_t peak() const { return block + variables + constants + scratch; }
};

/// By DeviceId. The plan of nodes that run one after the other, each by itself: a run that fuses some takes less, one
/// that runs some beside each other may take more. What kernels take for their work is that of the CPU's, which
/// simulated GPUs run, too; of real and described GPUs' nobody knows it here. Ops that emplace cannot run count with
/// the shapes that validate found. `feeds` are the request's. An error is one that a run would end with, too.
Result<std::vector<PlannedMemory>> planned_memory(const GraphFile& file, const DeviceSet& devices,
                                                  const Placement& placement, const StepRequest& request,
                                                  const std::vector<Tensor>& feeds);

/// What the variables of a device that the program names will take, as far as their shapes are known.
int64_t declared_variable_bytes(const Graph& graph, const Program& program, DeviceId device);

}  // namespace emplace
