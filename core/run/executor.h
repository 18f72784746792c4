/// Executor: a planned program bound to memory and kernels, ready to be run again and again.
///
/// Steps whose tensors all have a fixed place are launched from a flat array; the others (slots, dead tensors, shapes
/// that only a run knows, loops) go through run_step().
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <vector>

#include "core/plan/plan.h"
#include "core/run/bound_instruction.h"
#include "core/run/fused_kernel.h"
#include "core/run/gpu_chains.h"
#include "core/run/gpu_kernels.h"
#include "core/run/gpu_recording.h"
#include "core/run/memory_guard.h"
#include "core/run/parallel_run.h"
#include "core/run/runtime.h"

namespace emplace {

class Executor {
 public:
  /// All arguments must outlive it.
  Executor(const GraphFile& file, const DeviceSet& devices, Program program, Runtime& runtime, ProgramThreads threads);

  /// Plans: settles shapes, places constants, makes and prepares kernels, finds what can be fused, lays out memory.
  Status prepare(const std::vector<Tensor>& feeds);
  /// Binds to the memory of the planned tensors, by DeviceId. After prepare().
  Status bind(std::vector<std::byte*> blocks);

  /// One step.
  Status run(int64_t step);
  /// The program's fetches in host memory. A tensor of `outputs` is written over where it fits and nobody else holds
  /// it.
  Status fetch(std::vector<Tensor>& outputs);

  const Program& program() const { return program_; }
  const Plan& plan() const { return plan_; }
  /// Has a step begun? From then on the pools know what kernels take.
  bool has_run() const { return has_run_; }
  /// Of the last step.
  int64_t copy_bytes() const { return copy_bytes_; }

 private:
  struct Launch {
    Kernel* kernel;  // null: run_step
    KernelContext* context;
    InstructionId step;
  };

  class ChainKernel;

  Status place_fixed();
  Status make_kernel(InstructionId id);
  Result<std::unique_ptr<Kernel>> make_copy_kernel(const Instruction& s);
  Result<std::unique_ptr<Kernel>> make_gpu_kernel(InstructionId id, KernelInit init);
  Result<Gpu*> use_gpu(DeviceId device);
  /// The GPU in whose memory a value is (a reference: its variable); null: host memory, or a simulated GPU's.
  Result<Gpu*> gpu_of(ValueId v);
  /// Has a step on a GPU an input or output in that GPU's memory?
  bool uses_device_memory(InstructionId id) const;
  bool fuses_on_gpus() const;
  double saved_ns(const FoundChain& found) const;
  void fuse_on_gpus();
  std::unique_ptr<Kernel> bind_chain(BoundChain& chain);
  Status run_chain(BoundChain& chain, const KernelContext& c);
  const FusedGroup* group_at(InstructionId id) const;
  void order_gpu_launches();
  std::vector<std::vector<InstructionId>> gpu_steps() const;
  void run_copies_beside();
  class FoundInputs;
  void record_runs();
  bool finds_inputs(InstructionId id) const;
  bool only_reads(const Launch& launch) const;
  size_t recorded_lane(InstructionId id) const { return branches_.empty() ? 0 : branches_[id]; }
  RecordedScratch* recorded_scratch(InstructionId id);
  void find_branches(std::vector<RecordedRun::Part>& parts) const;
  bool records_runs() const;
  GpuNodeKernel* recordable(const Launch& launch) const;
  InstructionId next_use(InstructionId copy, ValueId v, bool reads) const;
  bool overlap(ValueId a, ValueId b) const;
  int64_t planned_bytes(ValueId v) const;
  bool on_cuda(DeviceId device) const { return devices_.at(device).kind == DeviceKind::kCuda; }
  InstructionId guarded_step() const;
  void wire(InstructionId id);
  Status prepare_kernel(InstructionId id);
  void rehearse(InstructionId id);
  void count_workspaces();
  void count_recorded_scratch();
  bool inputs_known(const Instruction& s) const;
  void count_settled_copies();
  void place_in_blocks(const std::vector<std::byte*>& blocks);
  Status check_bound() const;
  Status check_inputs(InstructionId id) const;
  void list_releases();
  void list_launches();
  void lay_out_memory();
  void lay_out_branches();
  bool fits(const Plan& plan, int64_t times = 1) const;
  bool conflict(InstructionId earlier, InstructionId later) const;
  bool steps_conflict(InstructionId earlier, InstructionId later) const;
  void schedule();

  Status start_fetch(size_t i, Tensor& out);
  Status run_launch(const Launch& launch, int64_t step);
  Status run_in_order(int64_t step);
  Status run_in_parallel(int64_t step);
  Status run_range(InstructionId begin, InstructionId end);
  Status run_observed(const Launch& launch, int64_t step);
  Status observe_skipped(InstructionId id);
  ObservedInstruction observed(const Instruction& s) const;
  Status show(const ObservedInstruction& what, InstructionId id, std::span<const Tensor> outputs);
  Status show_device(const ObservedInstruction& what, InstructionId id, std::vector<Tensor> seen);
  Status run_step(InstructionId id);
  Status run_loop(InstructionId id);
  Status run_kernel(InstructionId id);
  Status gather(InstructionId id);
  Status settle_outputs(InstructionId id);
  void scatter(InstructionId id);
  void release(InstructionId id);
  bool is_dead(const Instruction& s) const;
  void mark_dead(InstructionId id);
  Status failed(Status status, InstructionId id) const;
  Status with_live_set(Status status) const;

  const GraphFile& file_;
  const Graph& graph_;
  const DeviceSet& devices_;
  const Program program_;
  Runtime& runtime_;
  const ProgramThreads threads_;
  Plan plan_;

  // By InstructionId, ValueId and operand index.
  std::vector<BoundInstruction> bound_;
  std::vector<Tensor> values_;
  std::vector<Tensor> operands_;
  std::vector<std::unique_ptr<Kernel>> fused_;  // by the plan's groups
  std::map<InstructionId, BoundChain> chains_;  // those of them that are a GPU's, by their first step
  std::vector<std::unique_ptr<Kernel>> copy_calls_;
  std::vector<std::array<int64_t, Gpu::kNumBranches>>
      recorded_bytes_;                                    // by DeviceId and lane: the most that a launch takes
  std::vector<RecordedScratch::Lanes> recorded_scratch_;  // by DeviceId; outlives what is recorded
  std::vector<std::unique_ptr<RecordedRun>> recorded_;
  std::vector<uint8_t> branches_;  // by InstructionId; empty: recordings are one chain
  std::vector<DeviceId> gpus_;     // of kind kCuda that steps enqueue on, ascending
  MemoryGuard guard_;
  std::vector<Launch> launches_;  // of the program outside of loops
  // Where independent steps are worth running beside each other.
  std::unique_ptr<Schedule> schedule_;
  std::unique_ptr<ParallelRun> parallel_run_;
  std::vector<uint32_t> launch_of_;  // by InstructionId of a schedule's node; ~0: nothing to launch

  // State of a step.
  struct Met {
    ObservedInstruction what;
    InstructionId step;
    std::vector<Tensor> outputs;
  };
  std::vector<Met> met_;  // members of a collective that have run before the observer, but not the last
  std::vector<std::pair<Gpu*, uint64_t>> fetches_under_way_;  // copies out of a GPU, not waited for yet
  std::vector<uint8_t> value_dead_, step_dead_;
  std::vector<std::vector<ValueId>> releases_;  // by InstructionId: slots that nobody reads afterwards
  int64_t settled_copy_bytes_ = 0;              // of copies that take the same bytes each step
  std::atomic<int64_t> copy_bytes_{0};          // of the last step
  std::atomic<bool> has_run_{false};
  mutable std::atomic<InstructionId> exhausted_{kNoInstruction};  // the first step that found no memory
};

}  // namespace emplace
