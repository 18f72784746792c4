/// LaunchList: what a step launches of a prepared program, in a flat list that is run from front to back, or by several
/// threads where enough of it is independent. Kernels whose operands are bound for good are called directly; the frame
/// interpreter has the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/run/frame_interpreter.h"
#include "core/run/fused_kernel.h"
#include "core/run/gpu_launcher.h"
#include "core/run/launch.h"
#include "core/run/launch_facts.h"
#include "core/run/parallel_run.h"
#include "core/run/trace_blocks.h"

namespace emplace {

class LaunchList {
 public:
  /// All must outlive it. `feed` null: nobody watches.
  LaunchList(PreparedProgram& p, FrameInterpreter& interpreter, ObserverFeed* feed)
      : p_(p), interpreter_(interpreter), feed_(feed) {}

  /// Finds what is worth running in parallel, and lays out memory for it, unless a limit leaves no room for that.
  /// REQUIRES: the program uses no GPU; one thread enqueues on those.
  void lay_out();
  /// How many instructions may be at work at one time.
  size_t at_once() const { return schedule_ ? static_cast<size_t>(p_.threads.inter_op) : 1; }

  /// Lists the launches. `gpu` has the kernels of chains, and puts in order what GPUs do; `operands` knows when slots
  /// are emptied. After bind_memory().
  void fill(GpuLauncher& gpu, const SlotOperands& operands);

  /// After fill().
  StepFacts facts() const;

  /// One step. On failure everything before the failing instruction has run.
  Status run(int64_t step);

 private:
  void list(GpuLauncher& gpu, const SlotOperands& operands);
  /// The kernel, or what first finds the variables that these instructions read.
  Kernel* with_arrivals(Kernel* kernel, std::span<const InstructionId> instructions, const SlotOperands& operands);
  Status run_in_order(int64_t step);
  Status run_part(std::span<const Launch> part, int64_t step);
  Status run_watched(int64_t step);
  Status run_in_parallel(int64_t step);
  Status run_traced(int64_t step);
  Status run_traced_in_order(int64_t step);
  Status run_traced_in_parallel(int64_t step);
  /// For the trace: what each launch does.
  void describe();
  Status run_launch(const Launch& launch, int64_t step);

  PreparedProgram& p_;
  FrameInterpreter& interpreter_;
  ObserverFeed* const feed_;
  std::vector<Launch> launches_;               // of the program outside of loops
  std::vector<std::unique_ptr<Kernel>> made_;  // fused kernels, and what is launched around others
  std::vector<const FusedKernel*> fused_;      // of plan.groups, in their order; null: a GPU's kernel
  std::unique_ptr<TraceBlocks> traced_;        // null: there is no trace
  // Where independent instructions are worth running beside each other.
  std::unique_ptr<Schedule> schedule_;
  std::unique_ptr<ParallelRun> parallel_run_;
  std::vector<uint32_t> launch_of_;  // by InstructionId of a schedule's node; ~0: nothing to launch
};

}  // namespace emplace
