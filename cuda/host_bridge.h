/// HostBridge: copies of any size from other cards to this one through page-locked memory of the host, where cards do
/// not reach each other. Streams of both ends and events keep the order, so that no thread waits.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <map>
#include <memory>

#include "core/base/status.h"

namespace emplace::cuda {

/// One thread at a time; the card that receives is current in every call.
class HostBridge {
 public:
  static constexpr size_t kChunk = size_t{8} << 20;

  /// A card that sends, and a stream of it in which its half of the work goes.
  struct Sender {
    int device;
    cudaStream_t stream;
  };

  explicit HostBridge(int device, size_t chunk = kChunk) : device_(device), chunk_(chunk) {}
  ~HostBridge();
  HostBridge(const HostBridge&) = delete;
  HostBridge& operator=(const HostBridge&) = delete;

  /// Begins when `lane`, this card's, has come so far; what is enqueued there later comes after it.
  Status enqueue(void* to, cudaStream_t lane, const void* from, const Sender& sender, size_t bytes);

 private:
  static constexpr size_t kTurns = 2;
  struct Turn {
    std::byte* piece = nullptr;
    cudaEvent_t read = nullptr;  // by this card
  };
  using Filled = std::array<cudaEvent_t, kTurns>;  // by a sender: an event belongs to one card

  Status make();
  Result<Filled*> filled_by(int sender);

  const int device_;
  const size_t chunk_;  // bytes of a piece
  std::array<Turn, kTurns> turns_;
  cudaEvent_t begin_ = nullptr;
  std::map<int, Filled> filled_;
  size_t next_turn_ = 0;
};

}  // namespace emplace::cuda
