/// Staging: page-locked host memory through which copies to and from pageable memory go, so that they run beside the
/// host's work. A ring: a piece is free again when the copy that used it is done. It is small until something large is
/// copied: to lock pages takes the longer the more there are, and many processes copy only a few numbers.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <deque>

#include "core/base/status.h"

namespace emplace::cuda {

class Staging {
 public:
  static constexpr size_t kChunk = size_t{16} << 20;  // the largest piece of a copy
  static constexpr size_t kRing = 2 * kChunk, kSmallRing = size_t{1} << 20;

  Staging() = default;
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Enqueues a copy from `from`, which is read before this returns.
  Status copy_in(void* to, const void* from, size_t bytes, cudaStream_t stream);
  /// Enqueues a copy to `to`, which is written when finish() has returned for the ticket.
  Result<uint64_t> copy_out(void* to, const void* from, size_t bytes, cudaStream_t stream);
  Status finish(uint64_t ticket);

 private:
  struct Piece {
    size_t begin, end;
    cudaEvent_t done;
    void* target;  // of a copy out: where the bytes go once they are here
    uint64_t ticket;
  };
  /// For two pieces of this size.
  Status make_room(size_t bytes);
  Result<Piece*> take(size_t bytes);
  Status retire_oldest();
  Result<cudaEvent_t> event();

  std::byte* ring_ = nullptr;
  size_t ring_bytes_ = 0, head_ = 0;
  std::deque<Piece> in_flight_;  // oldest first
  std::deque<cudaEvent_t> spare_;
  uint64_t next_ticket_ = 1;
};

}  // namespace emplace::cuda
