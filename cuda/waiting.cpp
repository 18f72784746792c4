#include "cuda/waiting.h"

#include <chrono>
#include <thread>

#include "cuda/error.h"
#include "cuda/nccl.h"

namespace emplace::cuda {
namespace {

/// The first rounds only ask; later ones sleep, and look after the collectives.
template <class Query>
Status poll(const Query& query, const char* call) {
  constexpr int kEager = 1000, kRoundsBetweenChecks = 64;
  for (int round = 0;; ++round) {
    const cudaError_t now = query();
    if (now != cudaErrorNotReady) return status_of(now, call);
    if (round < kEager) continue;
    if (round % kRoundsBetweenChecks == 0) RETURN_IF_ERROR(Communicator::check_all());
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace

Status wait_for(cudaStream_t stream) {
  if (!Communicator::any()) return status_of(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  return poll([&] { return cudaStreamQuery(stream); }, "cudaStreamQuery");
}

Status wait_for(cudaEvent_t event) {
  if (!Communicator::any()) return status_of(cudaEventSynchronize(event), "cudaEventSynchronize");
  return poll([&] { return cudaEventQuery(event); }, "cudaEventQuery");
}

}  // namespace emplace::cuda
