#include "cuda/host_bridge.h"

#include <algorithm>

#include "cuda/error.h"

namespace emplace::cuda {
namespace {

Status make_event(cudaEvent_t& event) {
  return event ? ok_status() : status_of(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
}

}  // namespace

HostBridge::~HostBridge() {
  for (const auto& [sender, events] : filled_) {
    for (cudaEvent_t e : events) {
      if (e) (void)cudaEventDestroy(e);
    }
  }
  for (const Turn& t : turns_) {
    if (t.read) (void)cudaEventDestroy(t.read);
    if (t.piece) (void)cudaFreeHost(t.piece);
  }
  if (begin_) (void)cudaEventDestroy(begin_);
}

Status HostBridge::make() {
  for (Turn& t : turns_) {
    RETURN_IF_ERROR(make_event(t.read));
    if (t.piece) continue;
    void* memory = nullptr;
    CUDA_TRY(cudaHostAlloc(&memory, chunk_, cudaHostAllocPortable));
    t.piece = static_cast<std::byte*>(memory);
  }
  return make_event(begin_);
}

Result<HostBridge::Filled*> HostBridge::filled_by(int sender) {
  Filled& events = filled_[sender];
  if (events.back()) return &events;
  CUDA_TRY(cudaSetDevice(sender));
  Status made;
  for (cudaEvent_t& e : events) {
    if (made.ok()) made = make_event(e);
  }
  CUDA_TRY(cudaSetDevice(device_));
  RETURN_IF_ERROR(std::move(made));
  return &events;
}

// A piece is filled again once it has been read: its event of before, of a copy from whichever card.
Status HostBridge::enqueue(void* to, cudaStream_t lane, const void* from, const Sender& sender, size_t bytes) {
  RETURN_IF_ERROR(make());
  ASSIGN_OR_RETURN(Filled * filled, filled_by(sender.device));
  CUDA_TRY(cudaEventRecord(begin_, lane));
  CUDA_TRY(cudaStreamWaitEvent(sender.stream, begin_, 0));
  for (size_t at = 0; at < bytes; at += chunk_) {
    const Turn& turn = turns_[next_turn_];
    const cudaEvent_t here = (*filled)[next_turn_];
    const size_t size = std::min(chunk_, bytes - at);
    CUDA_TRY(cudaStreamWaitEvent(sender.stream, turn.read, 0));
    CUDA_TRY(cudaMemcpyAsync(turn.piece, static_cast<const std::byte*>(from) + at, size, cudaMemcpyDeviceToHost,
                             sender.stream));
    CUDA_TRY(cudaEventRecord(here, sender.stream));
    CUDA_TRY(cudaStreamWaitEvent(lane, here, 0));
    CUDA_TRY(cudaMemcpyAsync(static_cast<std::byte*>(to) + at, turn.piece, size, cudaMemcpyHostToDevice, lane));
    CUDA_TRY(cudaEventRecord(turn.read, lane));
    next_turn_ = (next_turn_ + 1) % kTurns;
  }
  return ok_status();
}

}  // namespace emplace::cuda
