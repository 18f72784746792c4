/// Runtime: what the programs of one session share: memory and variables of every device, threads, the will to stop.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/device/device.h"
#include "core/device/memory_pool.h"
#include "core/op/kernel.h"

namespace emplace {

/// The variables of one device, by container and name.
class VariableTable final : public VariableStore {
 public:
  Variable& find_or_create(const std::string& container, const std::string& name, DType dtype,
                           const Shape& shape) override;
  /// Initialised ones, with the bytes of their values.
  std::vector<std::pair<std::string, int64_t>> sizes() const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<Variable>> variables_;  // guarded by mutex_
};

struct Runtime {
  Runtime(const DeviceSet& devices, uint64_t seed);

  /// OK while the step may go on; Cancelled or DeadlineExceeded.
  Status check_stop() const;
  /// The cheap question behind check_stop().
  bool stop_asked() const {
    return (stop && stop->load(std::memory_order_relaxed)) ||
           (deadline != kNever && std::chrono::steady_clock::now() > deadline);
  }
  /// For a node whose own seeds are 0.
  uint64_t seed_of(uint32_t node) const;

  static constexpr std::chrono::steady_clock::time_point kNever = std::chrono::steady_clock::time_point::max();

  const DeviceSet& devices;
  std::vector<std::unique_ptr<MemoryPool>> pools;          // by DeviceId
  std::vector<std::unique_ptr<VariableTable>> variables;   // by DeviceId
  Parallel* parallel = nullptr;
  uint64_t seed;
  const std::atomic<bool>* stop = nullptr;
  std::chrono::steady_clock::time_point deadline = kNever;
  double timeout_s = 0;
};

/// While alive, this thread treats denormal floats as zero, as TensorFlow's threads do.
class FlushDenormals {
 public:
  FlushDenormals();
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  unsigned saved_;
};

}  // namespace emplace
