/// GpuRecorder: which launches on GPUs do the same in each step, so that they can be recorded together and replayed as
/// one (core/run/gpu_recording.h), and in what branches of a recording they may run beside each other.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "core/run/frame_interpreter.h"
#include "core/run/gpu_fusion.h"
#include "core/run/gpu_recording.h"
#include "core/run/launch.h"
#include "core/run/memory_conflicts.h"
#include "core/run/prepared_program.h"

namespace emplace {

class GpuRecorder {
 public:
  /// All must outlive it.
  GpuRecorder(PreparedProgram& p, SlotOperands& operands, FrameInterpreter& interpreter,
              const MemoryConflicts& conflicts, const GpuFusion& fusion)
      : p_(p), operands_(operands), interpreter_(interpreter), conflicts_(conflicts), fusion_(fusion) {}

  /// Lays out memory so that branches of recordings need not wait for each other, unless that takes much more of it.
  void lay_out();
  /// What recordings keep, and the most that a launch beside them takes, count as scratch of the plan.
  void count_scratch();
  /// Launches that follow each other become one recorded run.
  void record(std::vector<Launch>& launches);

 private:
  class FoundInputs;
  class RecordedLaunch;
  bool records_runs() const;
  bool finds_inputs(InstructionId id) const;
  bool only_reads(const Launch& launch) const;
  GpuNodeKernel* recordable(const Launch& launch) const;
  std::unique_ptr<Kernel> run_from(const std::vector<Launch>& launches, size_t begin, size_t& end);
  void find_branches(std::vector<RecordedRun::Part>& parts) const;
  size_t lane(InstructionId id) const { return branches_.empty() ? 0 : branches_[id]; }
  RecordedScratch* scratch(InstructionId id);

  PreparedProgram& p_;
  SlotOperands& operands_;
  FrameInterpreter& interpreter_;
  const MemoryConflicts& conflicts_;
  const GpuFusion& fusion_;
  std::vector<uint8_t> branches_;  // by InstructionId; empty: recordings are one chain
  std::vector<std::array<int64_t, Gpu::kNumBranches>> scratch_bytes_;  // by DeviceId and lane: the most of a launch
  std::vector<RecordedScratch::Lanes> scratch_;                        // by DeviceId; outlives what is recorded
  std::vector<std::unique_ptr<Kernel>> recorded_;
};

}  // namespace emplace
