#include "core/run/runtime.h"

#include <unistd.h>

#include <random>

#include "core/base/cat.h"

namespace emplace {
namespace {

/// The system's. std::random_device asks the processor first what it can, which takes a virtual machine longer than a
/// small step.
uint64_t system_seed() {
  uint64_t seed = 0;
  if (getentropy(&seed, sizeof seed) == 0) return seed;
  return (uint64_t{std::random_device{}()} << 32) | std::random_device{}();
}

}  // namespace

std::atomic<uint64_t>& RandomCounters::of(uint32_t node) {
  std::lock_guard lock(mutex_);
  return counters_[node];
}

std::vector<std::pair<uint32_t, uint64_t>> RandomCounters::drawn() const {
  std::lock_guard lock(mutex_);
  std::vector<std::pair<uint32_t, uint64_t>> out;
  for (const auto& [node, blocks] : counters_) {
    if (blocks != 0) out.emplace_back(node, blocks);
  }
  return out;
}

Runtime::Runtime(const DeviceSet& set, uint64_t wanted_seed, const GpuRunOptions& wanted_gpu,
                 std::shared_ptr<TaskState> shared)
    : devices(set),
      gpu_options(wanted_gpu),
      is_shared(shared != nullptr),
      task(shared ? std::move(shared) : std::make_shared<TaskState>(set, wanted_gpu)),
      gpus(task->gpus),
      gpu_turns(task->gpu_turns),
      pools(task->pools),
      variables(task->variables),
      seed(wanted_seed) {
  if (seed == 0) seed = system_seed();
}

void GpuTurn::lock() {
  for (DeviceId id : gpus_) runtime_.gpu_turns[id].lock();
}

void GpuTurn::unlock() {
  for (DeviceId id : gpus_) runtime_.gpu_turns[id].unlock();
}

Status Runtime::wait_for_gpus(std::span<const DeviceId> which) {
  for (DeviceId id : which) {
    Status status = gpus[id]->finish(~uint64_t{0});
    if (status.ok()) status = gpus[id]->wait_idle();
    if (!status.ok()) {
      return {status.code(),
              cat(devices.at(id).name, ": ", status.message(), "; --sync-every-node tells which node failed")};
    }
  }
  return ok_status();
}

uint64_t Runtime::seed_of(uint32_t node) const {
  // SplitMix64: neighbours get unrelated seeds.
  uint64_t z = seed + (uint64_t{node} + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace emplace
