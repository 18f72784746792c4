/// All-reduce over several cards by NCCL, which is loaded at the first use; on the stand-in by its own.
#pragma once

#include <cuda_runtime.h>

#include <span>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/status.h"

namespace emplace::cuda {

/// With NCCL's values.
enum class Reduction : int { kSum = 0, kProduct = 1, kMax = 2, kMin = 3 };

/// A set of cards, each with its rank. Lives as long as the process.
class Communicator {
 public:
  struct Part {
    const void* from = nullptr;
    void* to = nullptr;
    cudaStream_t stream = nullptr;
  };

  virtual ~Communicator() = default;
  /// Enqueues: every part's `to` becomes the reduction of all `from`, once all streams have come so far. By rank.
  virtual Status all_reduce(std::span<const Part> parts, int64_t count, DType type, Reduction reduction) = 0;

  /// The same for the same cards (CUDA's ordinals, by rank). Unavailable: no library. InvalidArgument: a card stands
  /// twice. Its algorithms are those of the environment (core/device/gpu_environment.h).
  static Result<Communicator*> of(const std::vector<int>& devices);
  /// Is there one?
  static bool any();
  /// Unavailable: one has lost a member, and is given up: what waits for it goes on, with results that nobody may use.
  static Status check_all();
};

/// Can there be communicators at all? Unavailable says why not.
Status nccl_there();

}  // namespace emplace::cuda
