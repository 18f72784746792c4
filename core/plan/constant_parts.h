/// constant_parts(): what constants alone decide, and something reads that they do not (weights turned around, the
/// factors of a batch normalisation). It is worked out once, with the plan, not in every step.
#pragma once

#include <vector>

#include "core/device/device.h"
#include "core/graph/graph.h"
#include "core/partition/program.h"

namespace emplace {

/// By InstructionId: is it such a part? Its CPU kernel makes numbers in host memory, of the same value in each step. A
/// graph of constants alone has none: there a step is asked for as it stands.
std::vector<uint8_t> constant_parts(const Graph& graph, const DeviceSet& devices, const Program& program);

}  // namespace emplace
