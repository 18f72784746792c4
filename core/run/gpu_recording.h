/// RecordedRun: launches on one GPU that follow each other and do the same at each step. They are run once as they are
/// (which loads their code and fills caches), then recorded, then replayed as one. In the recording, branches run beside each
/// other.
#pragma once

#include <memory>
#include <vector>

#include "core/device/gpu.h"
#include "core/op/kernel.h"

namespace emplace {

class RecordedRun final : public Kernel {
 public:
  struct Part {
    Kernel* kernel;
    KernelContext* context;
    uint8_t branch = 0;                 // below Gpu::kNumBranches
    std::vector<uint32_t> after = {};   // parts of other branches that come before this one
  };
  /// `must_record`: what cannot be recorded is an error; else it runs launch by launch for good.
  RecordedRun(std::vector<Part> parts, Gpu& gpu, bool must_record);
  ~RecordedRun() override;
  Status run(KernelContext& c) override;

 private:
  /// Scratch of a recorded launch is part of the recording: nobody else may get it as long as there are replays.
  class Keeper;
  enum class State { kFirst, kRecord, kReplay, kEager };
  Status run_parts(int64_t step);
  Status record(int64_t step);
  Status record_parts(int64_t step);
  Status record_part(const Part& part, int64_t step);

  std::vector<Part> parts_;
  Gpu& gpu_;
  bool must_record_;
  State state_ = State::kFirst;
  std::vector<std::unique_ptr<Keeper>> keepers_;   // by branch
  std::vector<std::unique_ptr<GpuEvent>> events_;  // of the recording in the making
  std::unique_ptr<GpuRecording> recording_;  // uses what keepers_ keep
};

}  // namespace emplace
