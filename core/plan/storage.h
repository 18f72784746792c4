/// Decides which values get a place in a device's planned block, and which instructions need no kernel in a step.
#pragma once

#include "core/graph/graph_file.h"
#include "core/plan/plain_loops.h"
#include "core/plan/plan.h"

namespace emplace {

/// kBlock for what is settled, and the modes that follow from it. REQUIRES: shapes are settled.
void choose_storage(const GraphFile& file, const DeviceSet& devices, const Program& program, Plan& plan,
                    const std::vector<PlainLoop>& loops = {});

/// May its inputs' bytes be looked at when this iteration of a loop has ended?
bool keeps_inputs(const Graph& graph, const Program& program, const Instruction& instruction);

/// What becomes of an instruction's outputs.
enum class OutputRule : uint8_t {
  kOwn,          // written by the kernel into memory that is there
  kSharesInput,  // outputs are the inputs of their numbers under another name or shape
  kProvided,     // the kernel says; perhaps an input's bytes
};
OutputRule output_rule(const Graph& graph, const Program& program, const Instruction& instruction);

}  // namespace emplace
