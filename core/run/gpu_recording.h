/// RecordedRun: launches on one GPU that follow each other and do the same at each step. They are run once as they are
/// (which loads their code and fills caches), then recorded, then replayed as one. In the recording, branches run beside each
/// other.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "core/device/gpu.h"
#include "core/op/kernel.h"
#include "core/partition/program.h"

namespace emplace {

/// Scratch of recorded launches, which is part of the recordings: nobody else may get it as long as there are replays. The
/// launches of one lane run one after the other, in whichever recording of the step they are, so they share it.
class RecordedScratch final : public Allocator {
 public:
  using Lanes = std::array<std::unique_ptr<RecordedScratch>, Gpu::kNumBranches>;

  /// `bytes`: the most that a launch says it takes.
  RecordedScratch(Allocator& pool, int64_t bytes) : pool_(pool), bytes_(bytes) {}
  /// Before a recording begins: what a pool does to make room may wait for the lanes.
  Status reserve();
  Result<Tensor> allocate(DType dtype, const Shape& shape) override;
  Result<Tensor> allocate_persistent(DType dtype, const Shape& shape) override { return pool_.allocate_persistent(dtype, shape); }

 private:
  Allocator& pool_;
  int64_t bytes_, taken_ = 0;
  Tensor room_;
  std::vector<Tensor> more_;  // what did not fit, which nobody had said
};

class RecordedRun final : public Kernel {
 public:
  struct Part {
    Kernel* kernel;
    KernelContext* context;
    RecordedScratch* scratch;
    StepId step;
    uint8_t branch = 0;                 // below Gpu::kNumBranches
    std::vector<uint32_t> after = {};   // parts of other branches that come before this one
  };
  /// `must_record`: what cannot be recorded is an error; else it runs launch by launch for good.
  RecordedRun(std::vector<Part> parts, Gpu& gpu, bool must_record);
  ~RecordedRun() override;
  Status run(KernelContext& c) override;
  /// The part that failed in the last run(); kNoStep: none did by itself.
  StepId failed_step() const { return failed_step_; }

 private:
  enum class State { kFirst, kRecord, kReplay, kEager };
  Status run_parts(int64_t step);
  Status record(int64_t step);
  Status record_parts(int64_t step);
  Status record_part(const Part& part, int64_t step);

  std::vector<Part> parts_;
  Gpu& gpu_;
  bool must_record_;
  State state_ = State::kFirst;
  StepId failed_step_ = kNoStep;
  std::vector<std::unique_ptr<GpuEvent>> events_;  // of the recording in the making
  std::unique_ptr<GpuRecording> recording_;
};

}  // namespace emplace
