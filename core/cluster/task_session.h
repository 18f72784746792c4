/// TaskSession: one task's part of a session of a cluster: its graph, its devices, what has come from others.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/cluster/piece_traffic.h"
#include "core/cluster/protocol.h"
#include "core/cluster/remote_exchange.h"
#include "core/formats/checkpoint/graph_checkpoints.h"
#include "core/run/launch_trace.h"
#include "core/run/session.h"
#include "core/run/task_state.h"

namespace emplace {

/// By callable and plan: what it was planned for.
using PlannedFeeds = std::vector<std::map<uint32_t, std::vector<Tensor>>>;

class TaskSession {
 public:
  /// `request`: as all tasks of the session get it; `self`: which of them this is; `own`: its devices as `state` has
  /// them; `data_roots`: where its nodes may touch files; `collectives`: of an MPI job whose ranks the peers are, may
  /// be null. InvalidArgument: a graph or a placement that is none; else what Session::create() says.
  static Result<std::shared_ptr<TaskSession>> create(const message::SessionRequest& request, const std::string& self,
                                                     const DeviceSet& own, std::shared_ptr<TaskState> state,
                                                     const Peers& peers, const std::vector<std::string>& data_roots,
                                                     MessagePassing* collectives = nullptr);

  uint64_t id() const { return id_; }
  /// What the session says of itself now, the programs that it cut included.
  message::SessionReply reply(const Status& status);
  /// This task's part of a step. One at a time, as all below.
  message::SessionReply run(const message::StepCall& call);
  /// A callable for feeds of some types and shapes. InvalidArgument: it is not of this graph.
  message::SessionReply plan(const message::PlanCall& call);
  message::SessionReply variable(const message::VariableCall& call);
  bool runs() const { return runs_; }
  /// What the traced steps did since the last call.
  message::TaskTrace take_trace();
  /// What other tasks push, and what this one pushed and was lost. Any thread.
  PieceTraffic& traffic() { return *traffic_; }
  void abort(uint64_t step);
  /// No step begins any longer, and the one that runs ends.
  void close();

  /// Tasks in the order of the session's devices: the master is the first.
  const std::vector<std::string>& tasks() const { return share_->tasks.names; }
  bool on_this_task(NodeId node) const;
  const std::string& task_of(NodeId node) const;
  bool has_node(NodeId node) const { return node < placement_.decisions.size(); }

 private:
  TaskSession() = default;
  Status load(const message::SessionRequest& request);
  Status set_devices(const message::SessionRequest& request, const std::string& self, const DeviceSet& own);
  Result<SessionOptions> options(const message::SessionRequest& request) const;
  Status plan_callable(const message::PlanCall& call);
  Status run_part(const message::StepCall& call, std::vector<Tensor>& outputs);

  uint64_t id_ = 0;
  bool has_own_step_ = false;
  std::unique_ptr<GraphFile> file_;
  DeviceSet cluster_, own_;
  Placement placement_;
  std::unique_ptr<PieceTraffic> traffic_;
  std::unique_ptr<RemoteExchange> exchange_;
  std::unique_ptr<TaskShare> share_;
  std::unique_ptr<GraphCheckpoints> checkpoints_;
  std::unique_ptr<LaunchTrace> trace_;  // null: no step is traced
  size_t work_taken_ = 0;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> closed_ = false, runs_ = false;
  std::mutex running_;
  std::atomic<uint64_t> step_ = 0;
  PlannedFeeds planned_;              // guarded by running_
  std::unique_ptr<Session> session_;  // the last: it refers to all else
};

}  // namespace emplace
