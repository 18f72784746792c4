#include "cuda/staging.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cuda/error.h"
#include "cuda/waiting.h"

namespace emplace::cuda {

Staging::~Staging() {
  for (const Piece& p : in_flight_) spare_.give(p.done);
  if (ring_) (void)cudaFreeHost(ring_);
}

// REQUIRES: its copy is done.
void Staging::retire_oldest() {
  const Piece p = in_flight_.front();
  in_flight_.pop_front();
  spare_.give(p.done);
  if (p.target) std::memcpy(p.target, ring_ + p.begin, p.end - p.begin);
}

Status Staging::retire_those_done() {
  while (!in_flight_.empty()) {
    const cudaError_t now = cudaEventQuery(in_flight_.front().done);
    if (now == cudaErrorNotReady) break;
    CUDA_TRY(now);
    retire_oldest();
  }
  return ok_status();
}

Result<Staging::Piece*> Staging::take(size_t bytes) {
  Piece* const none = nullptr;
  if (bytes > kAtOnce) return none;
  if (!ring_) {
    void* memory = nullptr;
    CUDA_TRY(cudaHostAlloc(&memory, kRing, cudaHostAllocPortable));
    ring_ = static_cast<std::byte*>(memory);
  }
  const size_t begin = head_ + bytes <= kRing ? head_ : 0, end = begin + bytes;
  auto overlaps = [&](const Piece& p) { return p.begin < end && begin < p.end; };
  auto taken = [&] { return std::any_of(in_flight_.begin(), in_flight_.end(), overlaps); };
  if (taken()) RETURN_IF_ERROR(retire_those_done());
  if (taken()) return none;
  ASSIGN_OR_RETURN(cudaEvent_t done, spare_.take());
  head_ = (end + 63) / 64 * 64;
  in_flight_.push_back({begin, end, done, nullptr, next_ticket_++});
  return &in_flight_.back();
}

Result<uint64_t> Staging::copy_in(void* to, const void* from, size_t bytes, cudaStream_t stream,
                                  std::shared_ptr<const void> keeps) {
  if (bytes == 0) return uint64_t{0};
  ASSIGN_OR_RETURN(Piece * piece, take(bytes));
  if (!piece) {
    const uint64_t ticket = next_ticket_++;
    RETURN_IF_ERROR(in_.enqueue({to, from, bytes, ticket, std::move(keeps)}, stream));
    return ticket;
  }
  std::memcpy(ring_ + piece->begin, from, bytes);
  CUDA_TRY(cudaMemcpyAsync(to, ring_ + piece->begin, bytes, cudaMemcpyHostToDevice, stream));
  CUDA_TRY(cudaEventRecord(piece->done, stream));
  return uint64_t{0};
}

Result<uint64_t> Staging::copy_out(void* to, const void* from, size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return uint64_t{0};
  ASSIGN_OR_RETURN(Piece * piece, take(bytes));
  if (!piece) {
    const uint64_t ticket = next_ticket_++;
    RETURN_IF_ERROR(out_.enqueue({to, from, bytes, ticket, nullptr}, stream));
    return ticket;
  }
  CUDA_TRY(cudaMemcpyAsync(ring_ + piece->begin, from, bytes, cudaMemcpyDeviceToHost, stream));
  CUDA_TRY(cudaEventRecord(piece->done, stream));
  piece->target = to;
  return piece->ticket;
}

Status Staging::finish(uint64_t ticket) {
  Status ring;
  while (ring.ok() && !in_flight_.empty() && in_flight_.front().ticket <= ticket) {
    ring = wait_for(in_flight_.front().done);
    if (ring.ok()) retire_oldest();
  }
  const Status in = in_.finish(ticket), out = out_.finish(ticket);
  return !ring.ok() ? ring : !in.ok() ? in : out;
}

}  // namespace emplace::cuda
