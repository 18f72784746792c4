/// GpuFusion: chains of elementwise nodes on GPUs, each run by one kernel that is compiled for it, if it can be had.
#pragma once

#include <map>
#include <memory>

#include "core/run/gpu_chains.h"
#include "core/run/gpu_kernels.h"
#include "core/run/prepared_program.h"
#include "core/run/slot_operands.h"

namespace emplace {

class GpuFusion {
 public:
  /// Both must outlive it.
  GpuFusion(PreparedProgram& p, SlotOperands& operands) : p_(p), operands_(operands) {}

  /// Finds and compiles chains: each becomes a group of the plan. Before the memory plan.
  void fuse();
  /// The kernel that is launched for the chain that begins with this instruction; null: none does. Once, after the
  /// program is bound.
  GpuNodeKernel* bind(InstructionId first);
  /// The same, already bound.
  GpuNodeKernel* launched(InstructionId first) const;
  /// The instructions of the chain with an input that each step finds anew; null: no chain begins here.
  const std::vector<InstructionId>* reads(InstructionId first) const;

 private:
  class LaunchedKernel;
  /// Compiled, and bound to memory.
  struct BoundChain {
    FoundChain found;
    std::unique_ptr<Kernel> kernel;
    KernelContext context;
    std::vector<Tensor> inputs, outputs;  // of the context
    std::unique_ptr<GpuNodeKernel> launched;
  };
  bool may_fuse() const;
  double saved_ns(const FoundChain& found) const;
  Status run(BoundChain& chain, const KernelContext& c);

  PreparedProgram& p_;
  SlotOperands& operands_;
  std::map<InstructionId, BoundChain> chains_;  // by their first instruction
};

}  // namespace emplace
