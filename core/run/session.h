/// Session: a placed graph made ready to run (partition, plan), its state, and its steps.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/graph/graph_file.h"
#include "core/op/session_table.h"
#include "core/partition/step_request.h"
#include "core/place/placement.h"
#include "core/run/device_memory.h"
#include "core/run/gpu_options.h"
#include "core/run/observer.h"

namespace emplace {

class LaunchTrace;
class TaskState;
struct TaskShare;

struct SessionOptions {
  std::vector<Endpoint> fetches;
  std::vector<NodeId> targets;
  std::vector<std::pair<Endpoint, Tensor>> feeds;
  int inter_op_threads = 0;                 // 0: as many as the affinity mask allows
  int intra_op_threads = 0;                 // likewise, for the pieces of one op
  uint64_t seed = 0;                        // 0: unpredictable where a node's own seeds are 0
  double timeout_s = 0;                     // per run; 0: none
  const std::atomic<bool>* stop = nullptr;  // set by a signal: the step ends with CANCELLED
  RunObserver* observer = nullptr;          // must outlive the session
  LaunchTrace* trace = nullptr;             // likewise; of sessions without observer and GPUs
  GpuRunOptions gpu;
  CheckpointAccess* checkpoints = nullptr;    // for nodes that read and write some; must outlive the session
  const TaskShare* share = nullptr;           // null: all of each step; else must outlive the session
  std::shared_ptr<TaskState> task = nullptr;  // shared with other sessions on these devices; null: the only one
};

/// Not thread-safe: one step at a time, but see add_step(). Steps share variables and random streams.
class Session {
 public:
  /// `files`' graph, devices and placement must outlive the session. With a share, the devices are the task's own, the
  /// placement is on those of the cluster, and a step's outputs are those that are fetched on this task. Unimplemented:
  /// ops that emplace does not run, all of them. ResourceExhausted: will not fit (device, need, limit, what is live at
  /// the peak). Without fetches and targets only what add_step() declares can be run.
  static Result<std::unique_ptr<Session>> create(const GraphFile& file, const DeviceSet& devices,
                                                 const Placement& placement, SessionOptions options);
  virtual ~Session() = default;

  /// Runs these nodes once (initializers), outside the counted steps.
  virtual Status run_nodes(const std::vector<NodeId>& nodes) = 0;
  /// One step. `outputs` gets the fetched values, in fetch order, in host memory.
  virtual Status step(std::vector<Tensor>& outputs) = 0;

  /// Declares another step that may be run: a callable, whose number this returns. Its feeds have new values in each
  /// step, whatever their first dimension. `at_once`: so many callables, this one included, may run at the same time,
  /// each on one thread, once all are planned for the shapes of their feeds. Each has memory and an equal share of the
  /// threads to itself.
  virtual int add_step(StepRequest request, int at_once = 1) = 0;
  /// Plans a callable for feeds of these types and shapes, so that memory() knows it. ResourceExhausted as create().
  virtual Status plan_step(int callable, const std::vector<Tensor>& feeds) = 0;
  /// One step of a callable. Plans are kept for the last few combinations of shapes. DataLoss: the guard is not finite;
  /// no variable was written that it does not depend on.
  virtual Status run_step(int callable, const std::vector<Tensor>& feeds, std::vector<Tensor>& outputs) = 0;
  /// The same of a callable without feeds, as the step of this number: what the trace calls it.
  virtual Status run_numbered_step(int callable, int64_t number, std::vector<Tensor>& outputs);
  /// The same, one node at a time before this observer.
  virtual Status run_observed(int callable, const std::vector<Tensor>& feeds, RunObserver& observer) = 0;

  /// The value of a variable (VariableV2, VarHandleOp), in memory that the host reads; invalid while there is none.
  /// Read it before the next step.
  virtual Result<Tensor> variable(NodeId node) = 0;
  /// REQUIRES: the variable's type and a shape that it accepts.
  virtual Status set_variable(NodeId node, const Tensor& value) = 0;
  /// The same without a copy where the variable's memory is the host's: until it is assigned, it is read from `value`,
  /// whose memory is never written and lives as long as the session. Its elements may lie at any address if the steps
  /// only take rows of it, or all by ops that reads_loose() names.
  virtual Status share_variable(NodeId node, const Tensor& value) = 0;
  /// What the table of a node (names_table()) holds; nothing while no step has made it, and of one that steps do not
  /// change.
  virtual Result<std::optional<TableContents>> table(NodeId node) = 0;
  /// FailedPrecondition: run_nodes() or a step has to run the node first. InvalidArgument: the table does not take
  /// them.
  virtual Status set_table(NodeId node, const TableContents& contents) = 0;
  /// How far the nodes that draw random numbers have come: what a run needs to go on as if never stopped.
  virtual std::vector<std::pair<NodeId, uint64_t>> random_counters() const = 0;
  virtual void set_random_counter(NodeId node, uint64_t blocks) = 0;

  virtual const DeviceSet& devices() const = 0;
  virtual std::vector<DeviceMemory> memory() const = 0;
  /// Spent in copies between memories, so far.
  virtual double copy_seconds() const = 0;
  /// Copies between devices made by one step, and their bytes (last step).
  virtual int64_t copies_per_step() const = 0;
  virtual int64_t copy_bytes_per_step() const = 0;
};

}  // namespace emplace
