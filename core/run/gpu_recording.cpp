#include "core/run/gpu_recording.h"

#include <algorithm>
#include <utility>

namespace emplace {

/// One branch's. A launch may have what an earlier one of its branch has finished with.
class RecordedRun::Keeper final : public Allocator {
 public:
  void set_pool(Allocator& pool) { pool_ = &pool; }
  Result<Tensor> allocate(DType dtype, const Shape& shape) override {
    const size_t bytes = static_cast<size_t>(shape.num_elements()) * storage_size(dtype);
    for (const Tensor& t : kept_) {
      if (t.buffer().use_count() == 1 && t.buffer()->size() >= bytes) return Tensor::wrap(dtype, shape, t.raw(), t.buffer());
    }
    ASSIGN_OR_RETURN(Tensor t, pool_->allocate(dtype, shape));
    if (t.buffer()) kept_.push_back(t);
    return t;
  }
  Result<Tensor> allocate_persistent(DType dtype, const Shape& shape) override { return pool_->allocate_persistent(dtype, shape); }

 private:
  Allocator* pool_ = nullptr;
  std::vector<Tensor> kept_;
};

namespace {

Gpu::Lane lane_of(uint8_t branch) { return static_cast<Gpu::Lane>(static_cast<uint8_t>(Gpu::Lane::kCompute) + branch); }

}  // namespace

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
  keepers_.clear();
  for (int i = 0; i < Gpu::kNumBranches; ++i) keepers_.push_back(std::make_unique<Keeper>());
  RETURN_IF_ERROR(gpu_.begin_recording());
  Status status = record_parts(step);
  Result<std::unique_ptr<GpuRecording>> recording = gpu_.end_recording();
  events_.clear();
  RETURN_IF_ERROR(status);
  ASSIGN_OR_RETURN(recording_, std::move(recording));
  return ok_status();
}

// Branches begin at the start and end at the end; between them parts wait for those that they come after.
Status RecordedRun::record_parts(int64_t step) {
  std::vector<GpuEvent*> done(parts_.size());
  std::vector<uint8_t> waited_for(parts_.size());
  uint8_t branches = 1;
  for (const Part& p : parts_) {
    branches = std::max<uint8_t>(branches, static_cast<uint8_t>(p.branch + 1));
    for (uint32_t earlier : p.after) waited_for[earlier] = 1;
  }
  auto mark = [&](uint8_t branch) -> Result<GpuEvent*> {
    ASSIGN_OR_RETURN(auto made, gpu_.make_event());
    events_.push_back(std::move(made));
    RETURN_IF_ERROR(gpu_.record(*events_.back(), lane_of(branch)));
    return events_.back().get();
  };
  if (branches > 1) {
    ASSIGN_OR_RETURN(GpuEvent * start, mark(0));
    for (uint8_t b = 1; b < branches; ++b) RETURN_IF_ERROR(gpu_.wait_for(*start, lane_of(b)));
  }
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Part& p = parts_[i];
    for (uint32_t earlier : p.after) RETURN_IF_ERROR(gpu_.wait_for(*done[earlier], lane_of(p.branch)));
    RETURN_IF_ERROR(record_part(p, step));
    if (!waited_for[i]) continue;
    ASSIGN_OR_RETURN(done[i], mark(p.branch));
  }
  for (uint8_t b = 1; b < branches; ++b) {
    ASSIGN_OR_RETURN(GpuEvent * end, mark(b));
    RETURN_IF_ERROR(gpu_.wait_for(*end, Gpu::Lane::kCompute));
  }
  return ok_status();
}

Status RecordedRun::record_part(const Part& part, int64_t step) {
  KernelContext& c = *part.context;
  Allocator* pool = c.allocator_;
  Keeper& keeper = *keepers_[part.branch];
  keeper.set_pool(*pool);
  c.allocator_ = &keeper;
  c.step_ = step;
  void* stream = std::exchange(c.stream_, gpu_.stream(lane_of(part.branch)));
  Status status = part.kernel->run(c);
  c.stream_ = stream;
  c.allocator_ = pool;
  return status;
}

}  // namespace emplace
