/// RecordedRun: launches on one GPU that follow each other and do the same at each step. They are run once as they are
/// (which loads their code and fills caches), then recorded, then replayed as one. In the recording, branches run
/// beside each other. Where something that is read has another place than it had, they are recorded again.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "core/device/gpu.h"
#include "core/op/kernel.h"
#include "core/partition/program.h"

namespace emplace {

/// Scratch of recorded launches, which is part of the recordings: nobody else may get it as long as there are replays.
/// The launches of one lane run one after the other, in whichever recording of the step they are, so they share it.
class RecordedScratch final : public Allocator {
 public:
  using Lanes = std::array<std::unique_ptr<RecordedScratch>, Gpu::kNumBranches>;

  /// `bytes`: the most that a launch says it takes.
  RecordedScratch(Allocator& pool, int64_t bytes) : pool_(pool), bytes_(bytes) {}
  /// Before a recording begins: what a pool does to make room may wait for the lanes.
  Status reserve();
  Result<Tensor> allocate(DType dtype, const Shape& shape) override;
  Result<Tensor> allocate_persistent(DType dtype, const Shape& shape) override {
    return pool_.allocate_persistent(dtype, shape);
  }

 private:
  Allocator& pool_;
  int64_t bytes_, taken_ = 0;
  Tensor room_;
  std::vector<Tensor> more_;  // what did not fit, which nobody had said
};

/// What parts of a recorded run read where each step finds it anew (variables, mostly).
class RunInputs {
 public:
  virtual ~RunInputs() = default;
  /// Before the parts run, in each step. Adds where everything lies.
  virtual Status find(std::vector<const void*>& addresses) = 0;
  /// When their work is enqueued: whoever writes comes later.
  virtual void let_go() = 0;
};

class RecordedRun final : public Kernel {
 public:
  struct Part {
    Kernel* kernel;
    KernelContext* context;
    RecordedScratch* scratch;  // null: it takes none
    InstructionId instruction;
    uint8_t branch = 0;                // below Gpu::kNumBranches
    std::vector<uint32_t> after = {};  // parts of other branches that come before this one
  };
  /// `must_record`: what cannot be recorded is an error; else it runs launch by launch for good, and `log` is told why.
  RecordedRun(std::vector<Part> parts, std::unique_ptr<RunInputs> inputs, Gpu& gpu, bool must_record, GpuLog log = {});
  ~RecordedRun() override;
  Status run(KernelContext& c) override;
  /// The part that failed in the last run(); kNoInstruction: none did by itself.
  InstructionId failed_instruction() const { return failed_instruction_; }

 private:
  enum class State { kFirst, kRecord, kReplay, kEager };
  Status run_found(int64_t step);
  Status run_parts(int64_t step);
  Status record(int64_t step);
  void say_state(const Status& recorded);
  void say_eager(std::string_view why);
  Status record_parts(int64_t step);
  Status record_part(const Part& part, int64_t step);

  std::vector<Part> parts_;
  std::unique_ptr<RunInputs> inputs_;  // null: everything has a place for good
  std::vector<const void*> addresses_, recorded_addresses_;
  int moves_ = 0;  // how often they were others
  Gpu& gpu_;
  bool must_record_;
  GpuLog log_;
  State state_ = State::kFirst;
  InstructionId failed_instruction_ = kNoInstruction;
  std::vector<std::unique_ptr<GpuEvent>> events_;  // of the recording in the making
  std::unique_ptr<GpuRecording> recording_;
};

}  // namespace emplace
