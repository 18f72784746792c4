/// What a device's memory held when it ran out, for the message that says so.
#pragma once

#include <span>
#include <string>

#include "core/plan/plan.h"
#include "core/run/runtime.h"

namespace emplace {

/// "\nlive in DEVICE: node (N bytes), ...", the largest first, for the device of instruction `at`. `values`: as the
/// instruction found them. Nothing else may run.
std::string live_set_text(const Graph& graph, const Program& program, const Plan& plan, const Runtime& runtime,
                          InstructionId at, std::span<const Tensor> values);

}  // namespace emplace
