#include "cuda/spare_events.h"

#include "cuda/error.h"

namespace emplace::cuda {

SpareEvents::~SpareEvents() {
  for (cudaEvent_t e : events_) (void)cudaEventDestroy(e);
}

Result<cudaEvent_t> SpareEvents::take() {
  cudaEvent_t e = nullptr;
  if (events_.empty()) {
    CUDA_TRY(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  } else {
    e = events_.back();
    events_.pop_back();
  }
  return e;
}

}  // namespace emplace::cuda
