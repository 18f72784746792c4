/// constant_parts(): what constants alone decide, and something reads that they do not (weights turned around, the
/// factors of a batch normalisation). It is worked out once, with the plan, not in every step.
#pragma once

#include <vector>

#include "core/device/device.h"
#include "core/graph/graph.h"
#include "core/partition/program.h"

namespace emplace {

/// kMayGrow: what reads it in the end reads it in each step, so that it may take more memory than it is made of.
/// kOnlyAsLarge: it is a variable's first value, or something else that is read for its effect: no gain is to be had.
enum class ConstantPart : uint8_t { kNone, kOnlyAsLarge, kMayGrow };

/// By InstructionId. A part's CPU kernel makes numbers in host memory, of the same value in each step. A graph of
/// constants alone has none: there a step is asked for as it stands.
std::vector<ConstantPart> constant_parts(const Graph& graph, const DeviceSet& devices, const Program& program);

}  // namespace emplace
