/// What a run will take of each device's memory, worked out without running, making a kernel or touching a device.
#pragma once

#include <optional>
#include <vector>

#include "core/plan/plan.h"

namespace emplace {

/// Bytes by device: the block of planned tensors, variables, and constants in a GPU's memory. Nothing for a device where
/// a tensor's shape, or a variable's, is known to a run only. The plan of nodes that run one after the other, each by
/// itself: a run that fuses some takes less, one that runs some beside each other may take more, and so may kernels
/// that repack constants. Ops that emplace cannot run count with the shapes that validate found.
/// `feeds` are the request's. An error is one that a run would end with, too.
Result<std::vector<std::optional<int64_t>>> planned_peaks(const GraphFile& file, const DeviceSet& devices, const Placement& placement,
                                                          Request request, const std::vector<Tensor>& feeds);

/// What the variables of a device that the program names will take, as far as their shapes are known.
int64_t declared_variable_bytes(const Graph& graph, const Program& program, DeviceId device);

}  // namespace emplace
