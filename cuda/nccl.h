/// All-reduce over several cards by NCCL, which is loaded at the first use; on the stand-in by its own.
#pragma once

#include <cuda_runtime.h>

#include <span>
#include <string>
#include <string_view>
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
  /// By it processes find each other. Unavailable: no library.
  static Result<std::string> make_id();
  /// The communicator of that id, of which the given cards, with their ranks among `total`, are this process's; one for
  /// each id. Waits for the other processes. Unavailable: no library, they do not come, or it is given up.
  static Result<Communicator*> among(std::string_view id, const std::vector<int>& devices,
                                     const std::vector<int>& ranks, int total);
  /// Ends what goes on under that id. Any thread.
  static void give_up(std::string_view id);
  /// Is there one?
  static bool any();
  /// Unavailable: one has lost a member, and is given up: what waits for it goes on, with results that nobody may use.
  static Status check_all();
};

/// Can there be communicators at all? Unavailable says why not.
Status nccl_there();

}  // namespace emplace::cuda
