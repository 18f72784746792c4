/// GpuLauncher: what a prepared program does differently where its instructions are on GPUs of kind kCuda: one thread
/// enqueues in the order of the launches, and the fewer and the better ordered these are, the better. Who adds work
/// that a GPU does beside its kernels (a copy's kind, a collective's) begins here.
///
///   core/run/gpu_fusion.h       elementwise nodes become one kernel
///   core/run/gpu_copy_order.h   copies run beside kernels
///   core/run/gpu_recorder.h     launches are recorded once and replayed as one
#pragma once

#include <vector>

#include "core/run/gpu_copy_order.h"
#include "core/run/gpu_fusion.h"
#include "core/run/gpu_recorder.h"

namespace emplace {

/// Does nothing for a program without GPUs. The calls in this order, each once.
class GpuLauncher {
 public:
  /// All must outlive it.
  GpuLauncher(PreparedProgram& p, SlotOperands& operands, FrameInterpreter& interpreter)
      : p_(p),
        conflicts_(p.program, p.plan),
        fusion_(p, operands),
        copies_(p, conflicts_),
        recorder_(p, operands, interpreter, conflicts_, fusion_) {}

  void fuse() { fusion_.fuse(); }
  /// The memory plan. REQUIRES: the program uses GPUs.
  void lay_out() { recorder_.lay_out(); }
  void count_scratch() { recorder_.count_scratch(); }
  /// The kernel in place of the chain that begins here; null: none does.
  Kernel* bind_chain(InstructionId first) { return fusion_.bind(first); }
  void order(std::vector<Launch>& launches);

 private:
  PreparedProgram& p_;
  MemoryConflicts conflicts_;
  GpuFusion fusion_;
  GpuCopyOrder copies_;
  GpuRecorder recorder_;
};

}  // namespace emplace
