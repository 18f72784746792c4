#include "cuda/lanes.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "cuda/error.h"

namespace emplace::cuda {
namespace {

struct KeptLanes {
  std::mutex mutex;
  std::vector<std::unique_ptr<Lanes>> all;  // guarded by mutex
};
KeptLanes& kept_lanes() {
  static auto* const kAll = new KeptLanes;  // the driver takes back what a process leaves
  return *kAll;
}

}  // namespace

Lanes::~Lanes() {
  for (cudaStream_t s : streams) {
    if (s) (void)cudaStreamDestroy(s);
  }
}

Result<std::unique_ptr<Lanes>> Lanes::take(int device, int priority) {
  {
    KeptLanes& kept = kept_lanes();
    std::lock_guard lock(kept.mutex);
    const auto found = std::find_if(kept.all.begin(), kept.all.end(), [&](const std::unique_ptr<Lanes>& l) {
      return l->device == device && l->priority == priority;
    });
    if (found != kept.all.end()) {
      std::unique_ptr<Lanes> lanes = std::move(*found);
      kept.all.erase(found);
      return lanes;
    }
  }
  auto lanes = std::make_unique<Lanes>(device, priority);
  for (cudaStream_t& s : lanes->streams) CUDA_TRY(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, priority));
  return lanes;
}

void Lanes::keep(std::unique_ptr<Lanes> lanes) {
  KeptLanes& kept = kept_lanes();
  std::lock_guard lock(kept.mutex);
  kept.all.push_back(std::move(lanes));
}

}  // namespace emplace::cuda
