/// SessionVariables: the values of a session's variables and tables, read and set from outside of its steps.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/device/device.h"
#include "core/graph/graph_file.h"
#include "core/op/session_table.h"
#include "core/place/placement.h"
#include "core/run/runtime.h"
#include "core/run/thread_pool.h"

namespace emplace {

struct TaskShare;

/// Writes the elements of `from` over those of `to`; both are in the host's memory, of one type and shape.
/// ResourceExhausted: the limit of host memory does not allow copies of the texts.
Status write_over(Tensor& to, const Tensor& from);

/// The functions are those of Session; not while a step runs.
class SessionVariables {
 public:
  /// All must outlive it. With a share, variables of other tasks are not asked for.
  SessionVariables(const GraphFile& file, const DeviceSet& devices, const Placement& placement, Runtime& runtime,
                   const TaskShare* share)
      : file_(file), devices_(devices), placement_(placement), runtime_(runtime), share_(share) {}

  /// How many may copy a large value; else one.
  void use_threads(int count) { parallel_.configure(count, nullptr); }

  Result<Tensor> read(NodeId node);
  Status set(NodeId node, const Tensor& value);
  Status share(NodeId node, const Tensor& value);
  Result<std::optional<TableContents>> read_table(NodeId node);
  Status set_table(NodeId node, const TableContents& contents);

 private:
  DeviceId device_of(NodeId node) const;
  Variable& state_of(NodeId node) const;
  Variable& keeper_of(NodeId node) const;
  /// The device as a list of GPUs whose turn is to be taken: empty unless it is one.
  std::span<const DeviceId> gpus_of(const DeviceId& device) const;

  const GraphFile& file_;
  const DeviceSet& devices_;
  const Placement& placement_;
  Runtime& runtime_;
  const TaskShare* const share_;
  PoolParallel parallel_;
  std::vector<Tensor> shared_;  // values of variables that lie in mapped files
};

}  // namespace emplace
