/// SessionMemory: where the plans of a session lie in its devices' memory, whether they fit, and what they come to.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "core/device/memory_pool.h"
#include "core/plan/live_list.h"
#include "core/run/device_memory.h"
#include "core/run/executor.h"

namespace emplace {

/// A plan, and with which others it shares memory. Those of one lane never run at the same time; those of lane 0 run
/// beside none at all.
struct LanePlan {
  const Executor* executor = nullptr;
  size_t lane = 0;
};

class SessionMemory {
 public:
  /// Memory beside the devices' blocks, of a plan that came after them and is too large.
  struct Own {
    std::vector<Mapping> mappings;
    std::vector<Tensor> on_gpus;
  };

  /// All must outlive it.
  SessionMemory(const GraphFile& file, const DeviceSet& devices, Runtime& runtime)
      : file_(file), devices_(devices), runtime_(runtime) {}

  /// ResourceExhausted: `added` would not fit beside those of other lanes; device, need, limit, what is live at the
  /// peak.
  Status check_limits(const LanePlan& added, const std::vector<LanePlan>& plans) const;
  /// The first call takes a block of each device for all that is planned by now; later ones do nothing.
  Status map_blocks(const std::vector<LanePlan>& plans);
  /// To its lane's part of the blocks, or to memory of its own where that is too small. After map_blocks().
  Status bind(Executor& executor, size_t lane, Own& own);

  std::vector<DeviceMemory> report(const std::vector<LanePlan>& plans) const;

 private:
  DeviceMemory report_device(const std::vector<LanePlan>& plans, DeviceId d) const;
  /// By lane: the plan that takes most of this device; null: none takes any.
  std::vector<const Executor*> largest(const std::vector<LanePlan>& plans, DeviceId d) const;
  int64_t bytes_to_come(const std::vector<LanePlan>& plans, DeviceId d) const;
  int64_t list_host_tensors(const std::vector<LanePlan>& plans, DeviceId d, LiveList& live) const;
  void list_live(const Executor& executor, DeviceId d, LiveList& live) const;

  const GraphFile& file_;
  const DeviceSet& devices_;
  Runtime& runtime_;
  struct Part {
    int64_t offset = 0, bytes = 0;
  };
  std::vector<std::vector<Part>> parts_;  // of each device's block, by lane; empty: not mapped yet
  bool has_blocks_ = false;               // else another session of the task has them
};

}  // namespace emplace
