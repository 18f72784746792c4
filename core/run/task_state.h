/// TaskState: what all sessions of a task share, and what lives as long as the task: the devices' memory with its
/// limits, the variables, the GPUs.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/fair_mutex.h"
#include "core/device/device.h"
#include "core/device/device_pool.h"
#include "core/device/gpu.h"
#include "core/op/kernel.h"
#include "core/run/gpu_options.h"

namespace emplace {

/// The variables of one device, by container and name.
class VariableTable final : public VariableStore {
 public:
  Variable& find_or_create(const std::string& container, const std::string& name, DType dtype,
                           const Shape& shape) override;
  /// Initialised ones, with the bytes of their values.
  std::vector<std::pair<std::string, int64_t>> sizes() const { return sizes_of(true, true); }
  /// Those that lie in files, mapped; and the others.
  std::vector<std::pair<std::string, int64_t>> mapped_sizes() const { return sizes_of(true, false); }
  std::vector<std::pair<std::string, int64_t>> own_sizes() const { return sizes_of(false, true); }

 private:
  std::vector<std::pair<std::string, int64_t>> sizes_of(bool mapped, bool own) const;

  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<Variable>> variables_;  // guarded by mutex_
};

/// Its tensors must be gone before it is; sessions keep it alive.
class TaskState {
 public:
  TaskState(const DeviceSet& devices, const GpuRunOptions& gpu_options);

  /// The GPU of kind kCuda, opened at the first call. One thread at a time.
  Result<Gpu*> gpu(DeviceId device);
  /// True for the first session that asks: the pools' blocks are its own, for its planned tensors.
  bool take_blocks();

  const DeviceSet devices;
  const GpuRunOptions gpu_options;
  std::vector<std::unique_ptr<Gpu>> gpus;                 // by DeviceId; null: not opened, or none
  std::deque<FairMutex> gpu_turns;                        // by DeviceId: GpuTurn's
  std::vector<std::unique_ptr<DevicePool>> pools;         // by DeviceId
  std::vector<std::unique_ptr<VariableTable>> variables;  // by DeviceId

 private:
  std::mutex mutex_;
  bool blocks_taken_ = false;  // guarded by mutex_
};

/// Of the tasks of a cluster, by name.
using TaskStates = std::map<std::string, std::shared_ptr<TaskState>>;

}  // namespace emplace
