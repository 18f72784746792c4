/// Staging: page-locked host memory through which copies to and from pageable memory go, so that they run beside the
/// host's work. Few bytes go through a ring at once: a piece is free again when the copy that used it is done. What is
/// larger, or finds no room there, goes in turns (cuda/copy_turns.h). Who enqueues a copy never waits for another.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <deque>
#include <memory>

#include "core/base/status.h"
#include "cuda/copy_turns.h"
#include "cuda/spare_events.h"

namespace emplace::cuda {

class Staging {
 public:
  static constexpr size_t kRing = size_t{1} << 20, kAtOnce = kRing / 2;  // the largest copy through the ring

  /// The priority of streams.
  explicit Staging(int priority = 0)
      : in_(CopyTurns::Direction::kIn, priority), out_(CopyTurns::Direction::kOut, priority) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Enqueues a copy from `from`, which has been read when finish() has returned for the ticket; 0: it is read.
  Result<uint64_t> copy_in(void* to, const void* from, size_t bytes, cudaStream_t stream,
                           std::shared_ptr<const void> keeps = nullptr);
  /// Enqueues a copy to `to`, which is written when finish() has returned for the ticket.
  Result<uint64_t> copy_out(void* to, const void* from, size_t bytes, cudaStream_t stream);
  Status finish(uint64_t ticket);
  bool idle() const { return in_flight_.empty() && in_.idle() && out_.idle(); }

 private:
  struct Piece {
    size_t begin, end;
    cudaEvent_t done;
    void* target;  // of a copy out: where the bytes go once they are here
    uint64_t ticket;
  };
  /// Null: there is no room, or they are too many.
  Result<Piece*> take(size_t bytes);
  Status retire_those_done();
  void retire_oldest();

  std::byte* ring_ = nullptr;
  size_t head_ = 0;
  std::deque<Piece> in_flight_;  // oldest first
  SpareEvents spare_;
  uint64_t next_ticket_ = 1;
  CopyTurns in_, out_;
};

}  // namespace emplace::cuda
