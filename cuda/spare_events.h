/// SpareEvents: events without times that are used again rather than made anew.
#pragma once

#include <cuda_runtime.h>

#include <vector>

#include "core/base/status.h"

namespace emplace::cuda {

/// One thread at a time; their card is current in every call.
class SpareEvents {
 public:
  SpareEvents() = default;
  SpareEvents(const SpareEvents&) = delete;
  SpareEvents& operator=(const SpareEvents&) = delete;
  /// Destroys those that were given back.
  ~SpareEvents();

  Result<cudaEvent_t> take();
  /// REQUIRES: nobody waits for it any more.
  void give(cudaEvent_t event) { events_.push_back(event); }

 private:
  std::vector<cudaEvent_t> events_;
};

}  // namespace emplace::cuda
