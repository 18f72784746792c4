#include "cuda/staging.h"

#include <algorithm>
#include <utility>

#include "cuda/error.h"
#include "cuda/host_copy.h"
#include "cuda/waiting.h"

namespace emplace::cuda {

Staging::~Staging() {
  for (const Piece& p : in_flight_) spare_.push_back(p.done);
  for (cudaEvent_t e : spare_) (void)cudaEventDestroy(e);
  if (ring_) (void)cudaFreeHost(ring_);
}

Result<cudaEvent_t> Staging::event() {
  cudaEvent_t e = nullptr;
  if (spare_.empty()) {
    CUDA_TRY(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  } else {
    e = spare_.back();
    spare_.pop_back();
  }
  return e;
}

Status Staging::retire_oldest() {
  Piece p = in_flight_.front();
  in_flight_.pop_front();
  spare_.push_back(p.done);
  RETURN_IF_ERROR(wait_for(p.done));
  if (p.target) copy_on_host(p.target, ring_ + p.begin, p.end - p.begin);
  return ok_status();
}

Status Staging::make_room(size_t bytes) {
  const size_t wanted = bytes > kSmallRing / 2 ? kRing : kSmallRing;
  if (ring_bytes_ >= wanted) return ok_status();
  while (!in_flight_.empty()) RETURN_IF_ERROR(retire_oldest());
  ring_bytes_ = head_ = 0;
  CUDA_TRY(cudaFreeHost(std::exchange(ring_, nullptr)));
  void* memory = nullptr;
  CUDA_TRY(cudaHostAlloc(&memory, wanted, cudaHostAllocPortable));
  ring_ = static_cast<std::byte*>(memory);
  ring_bytes_ = wanted;
  return ok_status();
}

Result<Staging::Piece*> Staging::take(size_t bytes) {
  RETURN_IF_ERROR(make_room(bytes));
  size_t begin = head_ + bytes <= ring_bytes_ ? head_ : 0, end = begin + bytes;
  auto overlaps = [&](const Piece& p) { return p.begin < end && begin < p.end; };
  while (std::any_of(in_flight_.begin(), in_flight_.end(), overlaps)) RETURN_IF_ERROR(retire_oldest());
  ASSIGN_OR_RETURN(cudaEvent_t done, event());
  head_ = (end + 63) / 64 * 64;
  in_flight_.push_back({begin, end, done, nullptr, next_ticket_++});
  return &in_flight_.back();
}

Status Staging::copy_in(void* to, const void* from, size_t bytes, cudaStream_t stream) {
  for (size_t at = 0; at < bytes; at += kChunk) {
    size_t size = std::min(kChunk, bytes - at);
    ASSIGN_OR_RETURN(Piece * piece, take(size));
    copy_on_host(ring_ + piece->begin, static_cast<const std::byte*>(from) + at, size);
    CUDA_TRY(
        cudaMemcpyAsync(static_cast<std::byte*>(to) + at, ring_ + piece->begin, size, cudaMemcpyHostToDevice, stream));
    CUDA_TRY(cudaEventRecord(piece->done, stream));
  }
  return ok_status();
}

Result<uint64_t> Staging::copy_out(void* to, const void* from, size_t bytes, cudaStream_t stream) {
  uint64_t last = 0;
  for (size_t at = 0; at < bytes; at += kChunk) {
    size_t size = std::min(kChunk, bytes - at);
    ASSIGN_OR_RETURN(Piece * piece, take(size));
    piece->target = static_cast<std::byte*>(to) + at;
    last = piece->ticket;
    CUDA_TRY(cudaMemcpyAsync(ring_ + piece->begin, static_cast<const std::byte*>(from) + at, size,
                             cudaMemcpyDeviceToHost, stream));
    CUDA_TRY(cudaEventRecord(piece->done, stream));
  }
  return last;
}

Status Staging::finish(uint64_t ticket) {
  while (!in_flight_.empty() && in_flight_.front().ticket <= ticket) RETURN_IF_ERROR(retire_oldest());
  return ok_status();
}

}  // namespace emplace::cuda
