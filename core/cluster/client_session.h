/// ClientSession: a session whose master is a server, as its client has it.
#pragma once

#include <deque>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/cluster/peer.h"
#include "core/cluster/protocol.h"
#include "core/graph/graph_file.h"
#include "core/run/launch_trace.h"
#include "core/run/session.h"

namespace emplace {

/// Callables that run beside each other have sessions of their own on the servers: they share variables, and each has
/// only the tasks that it needs, so that the loss of a task ends no other.
class ClientSession final : public Session {
 public:
  /// All must outlive it. `stop` and `trace` as SessionOptions has them. `traffic` gets that of each step.
  ClientSession(std::shared_ptr<Peer> master, const GraphFile& file, const DeviceSet& devices,
                const Placement& placement, const std::atomic<bool>* stop,
                std::shared_ptr<std::vector<message::TrafficMessage>> traffic, LaunchTrace* trace);
  ~ClientSession() override;

  /// Makes the session on the servers.
  Status begin(std::shared_ptr<const message::SessionRequest> request);

  Status run_nodes(const std::vector<NodeId>& nodes) override;
  Status step(std::vector<Tensor>& outputs) override;
  int add_step(StepRequest request, int at_once) override;
  Status plan_step(int callable, const std::vector<Tensor>& feeds) override;
  Status run_step(int callable, const std::vector<Tensor>& feeds, std::vector<Tensor>& outputs) override;
  /// Unimplemented.
  Status run_observed(int callable, const std::vector<Tensor>& feeds, RunObserver& observer) override;

  Result<Tensor> variable(NodeId node) override;
  Status set_variable(NodeId node, const Tensor& value) override;
  Status share_variable(NodeId node, const Tensor& value) override { return set_variable(node, value); }
  Result<std::optional<TableContents>> table(NodeId node) override;
  Status set_table(NodeId node, const TableContents& contents) override;
  std::vector<std::pair<NodeId, uint64_t>> random_counters() const override;
  void set_random_counter(NodeId node, uint64_t blocks) override;

  const DeviceSet& devices() const override { return devices_; }
  std::vector<DeviceMemory> memory() const override;
  double copy_seconds() const override;
  int64_t copies_per_step() const override;
  int64_t copy_bytes_per_step() const override;

 private:
  struct Callable {
    StepRequest request;
    bool runs_apart = false;
    int64_t number = -1;                                         // at the servers; -1: they do not know it yet
    std::vector<std::pair<std::vector<Shape>, uint32_t>> plans;  // shapes of feeds, number at the servers
    std::unique_ptr<ClientSession> apart;                        // that runs it, if others run beside it
  };

  template <class Request>
  Status ask(const char* name, const Request& request);
  /// Only what became of the request: the master's answer is in reply_.
  template <class Request>
  Status send(const char* name, const Request& request);
  Status run(message::StepCall call);
  /// What all tasks did in the step, for trace_.
  Status take_trace();
  Result<LaunchedWork> work_of(const message::WorkMessage& work) const;
  Result<uint32_t> find_or_plan(Callable& callable, const std::vector<Tensor>& feeds);
  Result<ClientSession*> session_apart(Callable& callable);
  std::vector<std::string> tasks_of(const StepRequest& step) const;

  const std::shared_ptr<Peer> master_;
  const GraphFile& file_;
  const DeviceSet& devices_;
  const Placement& placement_;
  const std::atomic<bool>* const stop_;
  const std::shared_ptr<std::vector<message::TrafficMessage>> traffic_;
  LaunchTrace* const trace_;                               // null: none is wanted
  std::map<std::string, std::vector<uint32_t>> work_ids_;  // in trace_, by task
  std::shared_ptr<const message::SessionRequest> request_;
  uint64_t id_ = 0, step_ = 0;
  std::shared_ptr<OutgoingRequest> keeping_;
  std::shared_ptr<std::promise<void>> kept_ = std::make_shared<std::promise<void>>();  // keeping_ has ended
  message::SessionReply reply_;
  std::deque<Callable> callables_;
  uint32_t next_number_ = 0, next_plan_ = 0;
  std::map<NodeId, uint64_t> random_;            // as the servers told last
  std::vector<message::RandomMessage> to_draw_;  // from where, by the next step

  mutable std::mutex mutex_;  // sessions apart are asked how they are while their steps run
  // Guarded by mutex_.
  std::vector<message::MemoryMessage> memory_;
  int64_t copies_ = 0, copy_bytes_ = 0;
  double copy_seconds_ = 0;
};

}  // namespace emplace
