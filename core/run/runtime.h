/// Runtime: what the programs of one session share: the streams of random numbers, the signal to stop, and, with other
/// sessions of its task, the devices' memory and the variables.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/run/observer.h"
#include "core/run/stop_signal.h"
#include "core/run/task_state.h"

namespace emplace {

class Exchange;
class LaunchTrace;

/// How far each node that draws random numbers has come, in blocks of its stream.
class RandomCounters {
 public:
  std::atomic<uint64_t>& of(uint32_t node);
  /// Those that have drawn, by node.
  std::vector<std::pair<uint32_t, uint64_t>> drawn() const;

 private:
  mutable std::mutex mutex_;
  std::map<uint32_t, std::atomic<uint64_t>> counters_;  // guarded by mutex_
};

/// The threads that a program may use.
struct ProgramThreads {
  Parallel* parallel = nullptr;  // for the pieces of one op
  int inter_op = 1;              // ops that run beside each other
};

struct Runtime {
  /// `shared` null: this is the task's only session. Else of the same devices.
  Runtime(const DeviceSet& devices, uint64_t seed, const GpuRunOptions& gpu_options = {},
          std::shared_ptr<TaskState> shared = nullptr);

  Result<Gpu*> gpu(DeviceId device) { return task->gpu(device); }
  /// Everything that was enqueued on these GPUs is done, or has failed.
  Status wait_for_gpus(std::span<const DeviceId> which);

  /// For a node whose own seeds are 0.
  uint64_t seed_of(uint32_t node) const;

  const DeviceSet& devices;
  const GpuRunOptions gpu_options;
  const bool is_shared;  // with other sessions
  const std::shared_ptr<TaskState> task;
  // The task's, see there.
  std::vector<std::unique_ptr<Gpu>>& gpus;
  std::deque<FairMutex>& gpu_turns;
  std::vector<std::unique_ptr<DevicePool>>& pools;
  std::vector<std::unique_ptr<VariableTable>>& variables;
  RandomCounters random;
  std::atomic<int64_t> copy_ns{0};          // spent in copies between memories
  RunObserver* observer = nullptr;          // may be null
  LaunchTrace* trace = nullptr;             // of programs without GPUs that nobody observes; may be null
  CheckpointAccess* checkpoints = nullptr;  // may be null
  Exchange* exchange = nullptr;             // with other tasks; null: none takes part
  std::string collective_id;                // of GPUs of several tasks (core/device/gpu.h); empty: they have none
  uint64_t seed;
  StopSignal stop;
};

/// While alive, no other thread enqueues on these GPUs (ascending), or waits for them: steps of several threads may
/// share one, and what one of them enqueued would become part of what another records.
class GpuTurn {
 public:
  GpuTurn(Runtime& runtime, std::span<const DeviceId> gpus) : runtime_(runtime), gpus_(gpus) {
    if (!empty()) lock();
  }
  ~GpuTurn() {
    if (!empty()) unlock();
  }
  GpuTurn(const GpuTurn&) = delete;
  GpuTurn& operator=(const GpuTurn&) = delete;
  bool empty() const { return gpus_.empty(); }

 private:
  void lock();
  void unlock();

  Runtime& runtime_;
  const std::span<const DeviceId> gpus_;
};

}  // namespace emplace
