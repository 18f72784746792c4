#include "core/run/gpu_recording.h"

namespace emplace {

class RecordedRun::Keeper final : public Allocator {
 public:
  explicit Keeper(Allocator& pool) : pool_(pool) {}
  Result<Tensor> allocate(DType dtype, const Shape& shape) override {
    ASSIGN_OR_RETURN(Tensor t, pool_.allocate(dtype, shape));
    kept_.push_back(t);
    return t;
  }
  Result<Tensor> allocate_persistent(DType dtype, const Shape& shape) override { return pool_.allocate_persistent(dtype, shape); }

 private:
  Allocator& pool_;
  std::vector<Tensor> kept_;
};

RecordedRun::RecordedRun(std::vector<Part> parts, Gpu& gpu, bool must_record)
    : parts_(std::move(parts)), gpu_(gpu), must_record_(must_record) {}
RecordedRun::~RecordedRun() = default;

Status RecordedRun::run(KernelContext& c) {
  switch (state_) {
    case State::kFirst:
      state_ = State::kRecord;
      return run_parts(c.step_);
    case State::kRecord: {
      Status recorded = record(c.step_);
      if (!recorded.ok() && must_record_) return recorded.with_context("recording a step");
      state_ = recorded.ok() ? State::kReplay : State::kEager;
      return recorded.ok() ? recording_->replay() : run_parts(c.step_);
    }
    case State::kReplay: return recording_->replay();
    case State::kEager: break;
  }
  return run_parts(c.step_);
}

Status RecordedRun::run_parts(int64_t step) {
  for (const Part& p : parts_) {
    p.context->step_ = step;
    RETURN_IF_ERROR(p.kernel->run(*p.context));
  }
  return ok_status();
}

Status RecordedRun::record(int64_t step) {
  RETURN_IF_ERROR(gpu_.begin_recording());
  Status status;
  for (const Part& p : parts_) {
    Allocator* pool = p.context->allocator_;
    keepers_.push_back(std::make_unique<Keeper>(*pool));
    p.context->allocator_ = keepers_.back().get();
    p.context->step_ = step;
    status = p.kernel->run(*p.context);
    p.context->allocator_ = pool;
    if (!status.ok()) break;
  }
  Result<std::unique_ptr<GpuRecording>> recording = gpu_.end_recording();
  RETURN_IF_ERROR(status);
  ASSIGN_OR_RETURN(recording_, std::move(recording));
  return ok_status();
}

}  // namespace emplace
