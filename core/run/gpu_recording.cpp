#include "core/run/gpu_recording.h"

#include <algorithm>
#include <utility>

#include "core/base/cat.h"

namespace emplace {
namespace {

constexpr int64_t kScratchAlignment = 256;
constexpr int kMostMoves = 8;  // then recording is given up

int64_t scratch_bytes(int64_t bytes) { return (bytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment; }
Gpu::Lane lane_of(uint8_t branch) { return static_cast<Gpu::Lane>(static_cast<uint8_t>(Gpu::Lane::kCompute) + branch); }

}  // namespace

Status RecordedScratch::reserve() {
  if (bytes_ == 0 || room_.valid()) return ok_status();
  ASSIGN_OR_RETURN(room_, pool_.allocate(DType::kUInt8, Shape{scratch_bytes(bytes_)}));
  return ok_status();
}

// Launches run one after the other, so the memory that one has given back serves the next.
Result<Tensor> RecordedScratch::allocate(DType dtype, const Shape& shape) {
  const int64_t bytes = scratch_bytes(shape.num_elements() * static_cast<int64_t>(storage_size(dtype)));
  if (room_.valid() && room_.buffer().use_count() == 1) taken_ = 0;
  if (room_.valid() && taken_ + bytes <= room_.num_elements()) {
    Tensor t = Tensor::wrap(dtype, shape, room_.data<uint8_t>() + taken_, room_.buffer());
    taken_ += bytes;
    return t;
  }
  for (const Tensor& t : more_) {
    if (t.buffer().use_count() == 1 && t.buffer()->size() >= static_cast<size_t>(bytes))
      return Tensor::wrap(dtype, shape, t.raw(), t.buffer());
  }
  ASSIGN_OR_RETURN(Tensor more, pool_.allocate(DType::kUInt8, Shape{bytes}));
  if (more.buffer()) more_.push_back(more);
  return Tensor::wrap(dtype, shape, more.raw(), more.buffer());
}

RecordedRun::RecordedRun(std::vector<Part> parts, std::unique_ptr<RunInputs> inputs, Gpu& gpu, bool must_record,
                         GpuLog log)
    : parts_(std::move(parts)), inputs_(std::move(inputs)), gpu_(gpu), must_record_(must_record), log_(log) {}
RecordedRun::~RecordedRun() = default;

Status RecordedRun::run(KernelContext& c) {
  failed_instruction_ = kNoInstruction;
  if (!inputs_) return run_found(c.step_);
  addresses_.clear();
  Status status = inputs_->find(addresses_);
  if (status.ok() && state_ == State::kReplay && addresses_ != recorded_addresses_) {
    state_ = ++moves_ > kMostMoves ? State::kEager : State::kRecord;
    if (state_ == State::kEager) say_eager("variables move at every step");
  }
  if (status.ok()) status = run_found(c.step_);
  inputs_->let_go();
  return status;
}

Status RecordedRun::run_found(int64_t step) {
  switch (state_) {
    case State::kFirst:
      state_ = State::kRecord;
      return run_parts(step);
    case State::kRecord: {
      Status recorded = record(step);
      if (!recorded.ok() && must_record_) return recorded.with_context("recording a step");
      state_ = recorded.ok() ? State::kReplay : State::kEager;
      say_state(recorded);
      return recorded.ok() ? recording_->replay() : run_parts(step);
    }
    case State::kReplay:
      return recording_->replay();
    case State::kEager:
      break;
  }
  return run_parts(step);
}

void RecordedRun::say_state(const Status& recorded) {
  if (recorded.ok()) {
    log_(LogLevel::kDebug, cat(parts_.size(), " nodes from ", parts_.front().context->node_name(), " to ",
                               parts_.back().context->node_name(), " are recorded"));
    return;
  }
  const auto failed =
      std::find_if(parts_.begin(), parts_.end(), [&](const Part& p) { return p.instruction == failed_instruction_; });
  const bool by_a_node = failed_instruction_ != kNoInstruction && failed != parts_.end();
  say_eager(cat(recorded.message(), by_a_node ? cat(" (node ", failed->context->node_name(), ")") : ""));
  failed_instruction_ = kNoInstruction;
}

void RecordedRun::say_eager(std::string_view why) {
  log_(LogLevel::kDebug,
       cat(parts_.size(), " nodes from ", parts_.front().context->node_name(), " to ",
           parts_.back().context->node_name(), " are not recorded, they run launch by launch: ", why));
}

Status RecordedRun::run_parts(int64_t step) {
  for (const Part& p : parts_) {
    p.context->step_ = step;
    Status status = p.kernel->run(*p.context);
    if (status.ok()) continue;
    failed_instruction_ = p.instruction;
    return status;
  }
  return ok_status();
}

Status RecordedRun::record(int64_t step) {
  for (const Part& p : parts_) {
    if (p.scratch) RETURN_IF_ERROR(p.scratch->reserve());
  }
  recorded_addresses_ = addresses_;
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
  Allocator* pool = std::exchange(c.allocator_, part.scratch);
  c.step_ = step;
  void* stream = std::exchange(c.stream_, gpu_.stream(lane_of(part.branch)));
  Status status = part.kernel->run(c);
  if (!status.ok()) failed_instruction_ = part.instruction;
  c.stream_ = stream;
  c.allocator_ = pool;
  return status;
}

}  // namespace emplace
