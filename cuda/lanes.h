/// Lanes: the streams of a logical GPU and its page-locked memory. They take a while to make and to lose, so a process
/// keeps those of a GPU that is gone for the next one on that card: another graph's.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <memory>

#include "core/device/gpu.h"
#include "cuda/host_bridge.h"
#include "cuda/staging.h"

namespace emplace::cuda {

struct Lanes {
  Lanes(int on_card, int of_priority) : device(on_card), priority(of_priority), staging(of_priority), bridge(on_card) {}
  ~Lanes();
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  /// Kept ones, or new ones. REQUIRES: the card (CUDA's ordinal) is current. Any thread.
  static Result<std::unique_ptr<Lanes>> take(int device, int priority);
  /// REQUIRES: everything enqueued in them is done. Any thread.
  static void keep(std::unique_ptr<Lanes> lanes);

  const int device, priority;
  std::array<cudaStream_t, Gpu::kNumLanes> streams{};
  Staging staging;
  HostBridge bridge;
};

}  // namespace emplace::cuda
