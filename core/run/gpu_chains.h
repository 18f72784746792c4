/// Which nodes on GPUs form chains (GpuChain): elementwise over equally many elements, neighbours in launch order, each
/// reading what another of them made.
#pragma once

#include <vector>

#include "core/device/gpu.h"
#include "core/plan/plan.h"
#include "core/run/bound_instruction.h"

namespace emplace {

struct FoundChain {
  struct Input {
    ValueId value;
    InstructionId instruction;  // the first that reads it, as its input `index`
    uint32_t index;
  };
  FusedGroup group;
  GpuChain chain;
  std::vector<Input> inputs;         // by the chain's input
  std::vector<InstructionId> reads;  // instructions with an input that each run finds anew
};

/// REQUIRES: every instruction with settled shapes is prepared or rehearsed. Which results are stored is not known yet.
std::vector<FoundChain> find_gpu_chains(const Graph& graph, const Program& program, const Plan& plan,
                                        const std::vector<BoundInstruction>& bound);

/// Bytes that the nodes' own kernels read and write, beyond what the chain does.
int64_t bytes_saved(const FoundChain& found, const Program& program);

}  // namespace emplace
