#include "cuda/copy_turns.h"

#include <algorithm>
#include <utility>

#include "cuda/error.h"
#include "cuda/host_copy.h"
#include "cuda/waiting.h"

namespace emplace::cuda {

CopyTurns::~CopyTurns() {
  bool idle = true;
  for (const Turn& t : turns_) idle &= !t.stream || cudaStreamSynchronize(t.stream) == cudaSuccess;
  if (!idle) {  // a function that the driver may still call finds what it needs
    (void)fail(ok_status());
    (void)gate_.release();
    for (std::unique_ptr<Flight>& f : flights_) (void)f.release();
    return;
  }
  for (const std::unique_ptr<Flight>& f : flights_) give_back(*f);
  if (begin_) (void)cudaEventDestroy(begin_);
  for (const Turn& t : turns_) {
    if (t.passed) (void)cudaEventDestroy(t.passed);
    if (t.stream) (void)cudaStreamDestroy(t.stream);
    if (t.piece) (void)cudaFreeHost(t.piece);
  }
}

// By a thread of the driver.
void CUDART_CB CopyTurns::run_on_host(void* step) {
  const auto& copy = *static_cast<const HostCopy*>(step);
  std::lock_guard lock(copy.gate->mutex);
  if (copy.gate->open) copy_on_host(copy.to, copy.from, copy.bytes);
}

void CopyTurns::give_back(const Flight& flight) {
  for (cudaEvent_t e : flight.done) spare_.give(e);
}

Status CopyTurns::make() {
  for (Turn& t : turns_) {
    if (!t.stream) CUDA_TRY(cudaStreamCreateWithPriority(&t.stream, cudaStreamNonBlocking, priority_));
    if (!t.passed) CUDA_TRY(cudaEventCreateWithFlags(&t.passed, cudaEventDisableTiming));
    if (t.piece) continue;
    void* memory = nullptr;
    CUDA_TRY(cudaHostAlloc(&memory, kChunk, cudaHostAllocPortable));
    t.piece = static_cast<std::byte*>(memory);
  }
  if (!begin_) CUDA_TRY(cudaEventCreateWithFlags(&begin_, cudaEventDisableTiming));
  return ok_status();
}

Status CopyTurns::fail(Status status) {
  std::lock_guard lock(gate_->mutex);
  gate_->open = false;
  failed_ = status;
  return status;
}

Status CopyTurns::enqueue(Copy copy, cudaStream_t lane) {
  RETURN_IF_ERROR(failed_);
  RETURN_IF_ERROR(make());
  flights_.push_back(std::make_unique<Flight>());
  Flight& flight = *flights_.back();
  flight.ticket = copy.ticket;
  flight.keeps = std::move(copy.keeps);
  flight.steps.reserve((copy.bytes + kChunk - 1) / kChunk);
  const Status status = enqueue_pieces(copy, flight, lane);
  return status.ok() ? status : fail(status);
}

Status CopyTurns::enqueue_pieces(const Copy& copy, Flight& flight, cudaStream_t lane) {
  CUDA_TRY(cudaEventRecord(begin_, lane));
  std::array<bool, kTurns> begun{};
  for (size_t at = 0; at < copy.bytes; at += kChunk) {
    const Turn& turn = turns_[next_turn_];
    const size_t size = std::min(kChunk, copy.bytes - at);
    if (direction_ == Direction::kIn) {
      // The host's side may come before the lane has come so far.
      flight.steps.push_back({gate_.get(), turn.piece, static_cast<const std::byte*>(copy.from) + at, size});
      CUDA_TRY(cudaLaunchHostFunc(turn.stream, run_on_host, &flight.steps.back()));
    } else {
      flight.steps.push_back({gate_.get(), static_cast<std::byte*>(copy.to) + at, turn.piece, size});
    }
    if (!std::exchange(begun[next_turn_], true)) CUDA_TRY(cudaStreamWaitEvent(turn.stream, begin_, 0));
    RETURN_IF_ERROR(enqueue_piece(turn, copy, at, flight.steps.back()));
    next_turn_ = (next_turn_ + 1) % kTurns;
  }
  for (size_t t = 0; t < kTurns; ++t) {
    if (begun[t]) RETURN_IF_ERROR(end(turns_[t], flight, lane));
  }
  return ok_status();
}

Status CopyTurns::enqueue_piece(const Turn& turn, const Copy& copy, size_t at, HostCopy& step) {
  if (direction_ == Direction::kIn) {
    CUDA_TRY(cudaMemcpyAsync(static_cast<std::byte*>(copy.to) + at, turn.piece, step.bytes, cudaMemcpyHostToDevice,
                             turn.stream));
    return status_of(cudaEventRecord(turn.passed, turn.stream), "cudaEventRecord");
  }
  CUDA_TRY(cudaMemcpyAsync(turn.piece, static_cast<const std::byte*>(copy.from) + at, step.bytes,
                           cudaMemcpyDeviceToHost, turn.stream));
  CUDA_TRY(cudaEventRecord(turn.passed, turn.stream));
  return status_of(cudaLaunchHostFunc(turn.stream, run_on_host, &step), "cudaLaunchHostFunc");
}

// The lane goes on when the card is done with its memory; a copy out is done when the host's functions are.
Status CopyTurns::end(const Turn& turn, Flight& flight, cudaStream_t lane) {
  CUDA_TRY(cudaStreamWaitEvent(lane, turn.passed, 0));
  ASSIGN_OR_RETURN(cudaEvent_t done, spare_.take());
  flight.done.push_back(done);
  return status_of(cudaEventRecord(done, turn.stream), "cudaEventRecord");
}

Status CopyTurns::finish(uint64_t ticket) {
  while (!flights_.empty() && flights_.front()->ticket <= ticket) {
    RETURN_IF_ERROR(failed_);
    Flight& flight = *flights_.front();
    for (cudaEvent_t e : flight.done) {
      if (Status status = wait_for(e); !status.ok()) return fail(std::move(status));
    }
    give_back(flight);
    flights_.pop_front();
  }
  return failed_;
}

}  // namespace emplace::cuda
