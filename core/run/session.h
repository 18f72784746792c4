/// Session: a placed graph made ready to run (partition, plan), its state, and its steps.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/graph/graph_file.h"
#include "core/place/placement.h"
#include "core/run/gpu_options.h"
#include "core/run/observer.h"

namespace emplace {

struct SessionOptions {
  std::vector<Endpoint> fetches;
  std::vector<NodeId> targets;
  std::vector<std::pair<Endpoint, Tensor>> feeds;
  int inter_op_threads = 0;   // 0: as many as the affinity mask allows
  int intra_op_threads = 0;   // likewise, for the pieces of one op
  uint64_t seed = 0;          // 0: unpredictable where a node's own seeds are 0
  double timeout_s = 0;       // per run; 0: none
  const std::atomic<bool>* stop = nullptr;  // set by a signal: the step ends with CANCELLED
  StepObserver* observer = nullptr;         // must outlive the session
  GpuRunOptions gpu;
};

/// Memory of one device, in bytes. The columns add up: planned + variables + pool = peak.
struct DeviceMemory {
  DeviceId device = kNoDevice;
  int64_t limit = 0;      // 0: none
  int64_t planned = 0;    // the block that static shapes share
  int64_t variables = 0;
  int64_t pool = 0;       // largest use by dynamic shapes and scratch
  int64_t peak = 0;
  std::vector<std::pair<std::string, int64_t>> live_at_peak;  // producer, bytes; largest first
};

/// Not thread-safe: one step at a time. Steps share variables.
class Session {
 public:
  /// `files`' graph, devices and placement must outlive the session. Unimplemented: ops that emplace does not run,
  /// all of them. ResourceExhausted: will not fit (device, need, limit, what is live at the peak).
  static Result<std::unique_ptr<Session>> create(const GraphFile& file, const DeviceSet& devices,
                                                 const Placement& placement, SessionOptions options);
  virtual ~Session() = default;

  /// Runs these nodes once (initializers), outside the counted steps.
  virtual Status run_nodes(const std::vector<NodeId>& nodes) = 0;
  /// One step. `outputs` gets the fetched values, in fetch order, in host memory.
  virtual Status step(std::vector<Tensor>& outputs) = 0;

  virtual std::vector<DeviceMemory> memory() const = 0;
  /// Copies between devices made by one step, and their bytes (last step).
  virtual int64_t copies_per_step() const = 0;
  virtual int64_t copy_bytes_per_step() const = 0;
};

}  // namespace emplace
