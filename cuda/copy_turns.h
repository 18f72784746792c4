/// CopyTurns: copies of any size between pageable memory and a card, for which the thread that enqueues them never
/// waits. They go piece by piece through two pieces of page-locked memory, each with a stream of its own; what the host
/// has to copy is done by host functions in those streams. So the streams alone keep everything in order.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "core/base/status.h"
#include "cuda/spare_events.h"

namespace emplace::cuda {

/// One direction's. One thread at a time; the card is current in every call.
class CopyTurns {
 public:
  /// Of a piece. A host function costs some 10 us, as long as a card takes for half a MiB.
  static constexpr size_t kChunk = size_t{8} << 20;
  enum class Direction : uint8_t { kIn, kOut };

  struct Copy {
    void* to;
    const void* from;
    size_t bytes;
    uint64_t ticket;                    // ascending
    std::shared_ptr<const void> keeps;  // until it is done; may be null
  };

  CopyTurns(Direction direction, int priority) : direction_(direction), priority_(priority) {}
  ~CopyTurns();
  CopyTurns(const CopyTurns&) = delete;
  CopyTurns& operator=(const CopyTurns&) = delete;

  /// The copy begins when `lane` has come so far; what is enqueued there later comes after it. The host's memory is
  /// read, or written, until finish().
  Status enqueue(Copy copy, cudaStream_t lane);
  /// Returns when all copies up to this ticket are done. After a failure nothing of the host's memory is touched any
  /// more, and every later call fails.
  Status finish(uint64_t ticket);
  bool idle() const { return flights_.empty(); }

 private:
  static constexpr size_t kTurns = 2;
  struct Turn {
    cudaStream_t stream = nullptr;
    std::byte* piece = nullptr;
    cudaEvent_t passed = nullptr;  // the card's side of a copy is done
  };
  /// What host functions look at before they touch anything.
  struct Gate {
    std::mutex mutex;
    bool open = true;  // guarded by mutex, which who copies holds
  };
  struct HostCopy {
    Gate* gate;
    void* to;
    const void* from;
    size_t bytes;
  };
  struct Flight {
    uint64_t ticket;
    std::shared_ptr<const void> keeps;
    std::vector<HostCopy> steps;  // of the host; they stay where they are
    std::vector<cudaEvent_t> done;
  };

  static void CUDART_CB run_on_host(void* step);
  Status make();
  Status enqueue_pieces(const Copy& copy, Flight& flight, cudaStream_t lane);
  Status enqueue_piece(const Turn& turn, const Copy& copy, size_t at, HostCopy& step);
  Status end(const Turn& turn, Flight& flight, cudaStream_t lane);
  void give_back(const Flight& flight);
  Status fail(Status status);

  const Direction direction_;
  const int priority_;
  std::array<Turn, kTurns> turns_;
  size_t next_turn_ = 0;
  cudaEvent_t begin_ = nullptr;  // the lane has come so far; null: nothing is made yet
  std::unique_ptr<Gate> gate_ = std::make_unique<Gate>();
  std::deque<std::unique_ptr<Flight>> flights_;  // oldest first
  SpareEvents spare_;
  Status failed_;
};

}  // namespace emplace::cuda
