/// What a run will take of each device's memory, worked out without running, making a kernel or touching a device.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/plan.h"

namespace emplace {

/// Bytes on one device.
struct PlannedMemory {
  int64_t block = 0;  // that planned tensors share
  int64_t fixed = 0;  // variables, and constants in a GPU's memory
  bool known = true;  // false: some tensor's shape, or a variable's, is known to a run only, and not counted
  std::vector<std::pair<std::string, int64_t>> live_at_peak;  // of the block: producer, bytes; largest first

  int64_t peak() const { return block + fixed; }
};

/// By DeviceId. The plan of nodes that run one after the other, each by
/// itself: a run that fuses some takes less, one that runs some beside each other may take more, and so may kernels
/// that repack constants. Ops that emplace cannot run count with the shapes that validate found.
/// `feeds` are the request's. An error is one that a run would end with, too.
Result<std::vector<PlannedMemory>> planned_memory(const GraphFile& file, const DeviceSet& devices, const Placement& placement,
                                                  Request request, const std::vector<Tensor>& feeds);

/// What the variables of a device that the program names will take, as far as their shapes are known.
int64_t declared_variable_bytes(const Graph& graph, const Program& program, DeviceId device);

}  // namespace emplace
