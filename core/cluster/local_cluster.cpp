#include "core/cluster/local_cluster.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <utility>

#include "core/cluster/local_exchange.h"
#include "core/cluster/step_outcome.h"
#include "core/cluster/task_thread.h"
#include "core/run/cut_programs.h"

namespace emplace {
namespace {

/// One task: its devices, its end of the network, its part of every step.
struct LocalTask {
  LocalTask(const DeviceSet& cluster, const std::shared_ptr<const TaskMap>& tasks, TaskId self, LocalNetwork& network,
            AgreedPrograms& agreed, CutPrograms& programs)
      : name(tasks->names[self]),
        devices(devices_of_task(cluster, *tasks, self)),
        ids(tasks->devices_of(self)),
        exchange(network, agreed, self, tasks->names),
        share(cluster, tasks, self, exchange) {
    share.programs = &programs;
  }

  const std::string name;
  const DeviceSet devices;
  const std::vector<DeviceId> ids;  // in the cluster's set, by id in `devices`
  LocalExchange exchange;
  TaskShare share;
  std::atomic<bool> stop = false;  // its part of the running step
  std::unique_ptr<Session> session;
  std::vector<Tensor> unfetched;  // none: the first task has what is fetched
  TaskThread thread;
};

class LocalCluster final : public Session {
 public:
  LocalCluster(const DeviceSet& devices, const Placement& placement, const NetworkFaults& faults,
               const std::atomic<bool>* stop)
      : devices_(devices), placement_(placement), network_(tasks_.size(), faults), stop_(stop) {
    for (TaskId t = 0; t < tasks_.size(); ++t)
      members_.push_back(std::make_unique<LocalTask>(devices, map_, t, network_, agreed_, programs_));
  }

  Status create_sessions(const GraphFile& file, const SessionOptions& options, TaskStates* states) {
    for (auto& member : members_) {
      SessionOptions own = options;
      if (states) {
        std::shared_ptr<TaskState>& state = (*states)[member->name];
        if (!state) state = std::make_shared<TaskState>(member->devices, options.gpu);
        own.task = state;
      }
      own.stop = &member->stop;
      own.share = &member->share;
      ASSIGN_OR_RETURN(member->session, Session::create(file, member->devices, placement_, own));
    }
    programs_.clear();
    return ok_status();
  }

  Status run_nodes(const std::vector<NodeId>& nodes) override {
    return on_all([&](LocalTask& task) { return task.session->run_nodes(nodes); });
  }
  Status step(std::vector<Tensor>& outputs) override {
    return on_all([&](LocalTask& task) { return task.session->step(outputs_of(task, outputs)); });
  }

  int add_step(StepRequest request, int /*at_once*/) override {
    int number = 0;
    for (auto& member : members_) number = member->session->add_step(request);
    return number;
  }
  Status plan_step(int callable, const std::vector<Tensor>& feeds) override {
    return on_all([&](LocalTask& task) { return task.session->plan_step(callable, feeds); });
  }
  Status run_step(int callable, const std::vector<Tensor>& feeds, std::vector<Tensor>& outputs) override {
    return on_all([&](LocalTask& task) { return task.session->run_step(callable, feeds, outputs_of(task, outputs)); });
  }
  Status run_observed(int, const std::vector<Tensor>&, RunObserver&) override {
    return unimplemented("a step of several tasks cannot be watched node by node");
  }

  Result<Tensor> variable(NodeId node) override { return owner(node).variable(node); }
  Status set_variable(NodeId node, const Tensor& value) override { return owner(node).set_variable(node, value); }
  Status share_variable(NodeId node, const Tensor& value) override { return owner(node).share_variable(node, value); }
  Result<std::optional<TableContents>> table(NodeId node) override { return owner(node).table(node); }
  Status set_table(NodeId node, const TableContents& contents) override {
    return owner(node).set_table(node, contents);
  }

  std::vector<std::pair<NodeId, uint64_t>> random_counters() const override {
    std::vector<std::pair<NodeId, uint64_t>> all;
    for (const auto& member : members_) {
      const auto drawn = member->session->random_counters();
      all.insert(all.end(), drawn.begin(), drawn.end());
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  void set_random_counter(NodeId node, uint64_t blocks) override { owner(node).set_random_counter(node, blocks); }

  const DeviceSet& devices() const override { return devices_; }
  std::vector<DeviceMemory> memory() const override {
    std::vector<DeviceMemory> all(devices_.size());
    for (const auto& member : members_) {
      for (DeviceMemory& row : member->session->memory()) {
        const DeviceId id = member->ids[row.device];
        row.device = id;
        all[id] = std::move(row);
      }
    }
    return all;
  }
  double copy_seconds() const override { return sum<double>(&Session::copy_seconds); }
  int64_t copies_per_step() const override { return sum<int64_t>(&Session::copies_per_step); }
  int64_t copy_bytes_per_step() const override { return sum<int64_t>(&Session::copy_bytes_per_step); }

 private:
  using Part = std::function<Status(LocalTask&)>;

  /// One step, under a number of its own, on all tasks at once.
  Status on_all(const Part& part) {
    std::lock_guard lock(running_);
    const uint64_t step = ++step_;
    StepOutcome outcome(members_.size());
    for (auto& member : members_) {
      member->stop = false;
      member->exchange.begin(step);
    }
    for (auto& member : members_) {
      LocalTask& task = *member;
      task.thread.start([&, step] {
        if (const Status status = part(task); !status.ok()) {
          outcome.failed(task.name, status);
          abort(step);
        }
        outcome.ended();
      });
    }
    constexpr std::chrono::milliseconds kTick{20};
    while (!outcome.wait_for(kTick)) {
      if (!stop_ || !stop_->load(std::memory_order_relaxed)) continue;
      outcome.failed({}, Status(Code::kCancelled, "the run was interrupted"));
      abort(step);
    }
    for (TaskId t = 0; t < tasks_.size(); ++t) network_.inbox(t).end(step);
    programs_.clear();
    return outcome.status();
  }

  void abort(uint64_t step) {
    for (TaskId t = 0; t < tasks_.size(); ++t) {
      members_[t]->stop = true;
      network_.inbox(t).abort(step);
    }
  }

  std::vector<Tensor>& outputs_of(LocalTask& task, std::vector<Tensor>& outputs) {
    return &task == members_.front().get() ? outputs : task.unfetched;
  }

  Session& owner(NodeId node) { return *members_[tasks_.of[placement_.device(node)]]->session; }

  template <class T>
  T sum(T (Session::*of)() const) const {
    T total = 0;
    for (const auto& member : members_) total += (member->session.get()->*of)();
    return total;
  }

  const DeviceSet& devices_;
  const Placement& placement_;
  const std::shared_ptr<const TaskMap> map_ = std::make_shared<const TaskMap>(devices_);
  const TaskMap& tasks_ = *map_;
  AgreedPrograms agreed_;
  CutPrograms programs_;
  LocalNetwork network_;
  const std::atomic<bool>* const stop_;
  std::vector<std::unique_ptr<LocalTask>> members_;
  std::mutex running_;
  uint64_t step_ = 0;  // guarded by running_
};

}  // namespace

Result<std::unique_ptr<Session>> create_local_cluster(const GraphFile& file, const DeviceSet& devices,
                                                      const Placement& placement, const SessionOptions& options,
                                                      const NetworkFaults& faults, TaskStates* states) {
  if (options.observer || options.trace) return unimplemented("a step of several tasks cannot be watched node by node");
  auto cluster = std::make_unique<LocalCluster>(devices, placement, faults, options.stop);
  RETURN_IF_ERROR(cluster->create_sessions(file, options, states));
  return std::unique_ptr<Session>(std::move(cluster));
}

}  // namespace emplace
