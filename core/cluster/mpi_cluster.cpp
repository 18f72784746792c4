#include "core/cluster/mpi_cluster.h"

#include <dlfcn.h>

#include <algorithm>
#include <random>
#include <utility>

#include "core/base/cat.h"
#include "core/base/plugin_file.h"
#include "core/cluster/mpi_link.h"
#include "core/run/exchange.h"
#include "core/run/task_state.h"

namespace emplace {

using message::TaskStatus;

namespace {

/// How far a rank came with a session, and which programs it cut.
struct RankVerdict {
  message::StatusMessage status;
  std::vector<std::string> programs;

  template <class F>
  void fields(F& field) {
    field(1, status), field(2, programs);
  }
};

/// A rank's end of the network.
class MpiExchange final : public Exchange {
 public:
  /// `ranks`: by task of the session.
  MpiExchange(MpiLink& link, std::vector<std::string> names, std::vector<int> ranks)
      : link_(link), names_(std::move(names)), ranks_(std::move(ranks)) {}

  void begin(uint64_t step) { step_ = step, sent_bytes = received_bytes = 0; }
  std::vector<std::string> take_programs() { return std::exchange(programs_, {}); }

  Status agree(const std::string& program_hash) override { return programs_.push_back(program_hash), ok_status(); }
  const std::string& task_name(TaskId task) const override { return names_[task]; }
  Status send(const Transfer& transfer, const Piece& piece) override {
    if (piece.value.valid()) sent_bytes += static_cast<int64_t>(piece.value.size_bytes());
    return link_.send_piece(ranks_[transfer.peer], {0, step_, transfer.copy, piece.dead, piece.value, piece.iteration});
  }
  Result<Piece> receive(const Transfer& transfer, uint64_t iteration, const StopSignal& stop) override {
    Result<Piece> piece = link_.inbox().take({step_, transfer.copy, iteration}, stop);
    if (piece.ok() && piece->value.valid()) received_bytes += static_cast<int64_t>(piece->value.size_bytes());
    return piece;
  }

  int64_t sent_bytes = 0, received_bytes = 0;  // since begin()

 private:
  MpiLink& link_;
  const std::vector<std::string> names_;  // by task
  const std::vector<int> ranks_;          // likewise
  std::vector<std::string> programs_;
  uint64_t step_ = 0;
};

/// FailedPrecondition: ranks have cut different programs.
Status same_programs(const std::vector<RankVerdict>& all, const std::vector<std::string>& tasks) {
  for (size_t r = 1; r < all.size(); ++r) {
    if (all[r].programs == all[0].programs) continue;
    const auto last = [](const RankVerdict& v) { return v.programs.empty() ? std::string("none") : v.programs.back(); };
    return failed_precondition(cat("program ", last(all[0]), " on ", tasks[0], ", ", last(all[r]), " on ", tasks[r],
                                   ": the tasks have not the same graph, devices or request"));
  }
  return ok_status();
}

class MpiSession final : public Session {
 public:
  MpiSession(MpiLink& link, const DeviceSet& all, const DeviceSet& own, std::vector<int> ranks)
      : link_(link),
        all_(all),
        own_(own),
        tasks_(all),
        exchange_(link, tasks_.names, std::move(ranks)),
        share_(all, tasks_.find(own.own_task), exchange_) {}

  Status create(const GraphFile& file, const Placement& placement, SessionOptions options,
                std::shared_ptr<TaskState> state) {
    placement_ = &placement;
    options.share = &share_;
    options.stop = &link_.stop();
    options.task = std::move(state);
    ASSIGN_OR_RETURN(session_, Session::create(file, own_, placement, options));
    return ok_status();
  }
  std::vector<std::string> take_programs() { return exchange_.take_programs(); }

  Status run_nodes(const std::vector<NodeId>& nodes) override {
    return on_all([&] { return session_->run_nodes(nodes); });
  }
  Status step(std::vector<Tensor>& outputs) override {
    return on_all([&] { return session_->step(outputs); });
  }
  int add_step(StepRequest request, int at_once) override { return session_->add_step(std::move(request), at_once); }
  Status plan_step(int, const std::vector<Tensor>&) override { return no_callables(); }
  Status run_step(int, const std::vector<Tensor>&, std::vector<Tensor>&) override { return no_callables(); }
  Status run_observed(int, const std::vector<Tensor>&, RunObserver&) override { return no_callables(); }

  Result<Tensor> variable(NodeId node) override {
    if (!on_this_task(node)) return unimplemented("the value of a variable on another rank");
    return session_->variable(node);
  }
  Status set_variable(NodeId node, const Tensor& value) override {
    return on_this_task(node) ? session_->set_variable(node, value) : ok_status();
  }
  Status share_variable(NodeId node, const Tensor& value) override {
    return on_this_task(node) ? session_->share_variable(node, value) : ok_status();
  }
  std::vector<std::pair<NodeId, uint64_t>> random_counters() const override { return session_->random_counters(); }
  void set_random_counter(NodeId node, uint64_t blocks) override {
    if (on_this_task(node)) session_->set_random_counter(node, blocks);
  }

  const DeviceSet& devices() const override { return all_; }
  std::vector<DeviceMemory> memory() const override {
    std::vector<DeviceMemory> all(all_.size());
    const std::vector<DeviceId> ids = tasks_.devices_of(share_.task);
    for (DeviceId d = 0; d < all.size(); ++d) all[d].device = d;
    for (DeviceMemory& row : session_->memory()) {
      const DeviceId id = ids[row.device];
      row.device = id;
      all[id] = std::move(row);
    }
    return all;
  }
  double copy_seconds() const override { return session_->copy_seconds(); }
  int64_t copies_per_step() const override { return session_->copies_per_step(); }
  int64_t copy_bytes_per_step() const override { return session_->copy_bytes_per_step(); }

 private:
  static Status no_callables() {
    return unimplemented("--engine mpi runs one step after the other, all with the same feeds; --engine grpc, too");
  }
  bool on_this_task(NodeId node) const { return tasks_.of[placement_->device(node)] == share_.task; }

  template <class Part>
  Status on_all(const Part& part) {
    exchange_.begin(link_.begin_step());
    return link_.end_step(part());
  }

  MpiLink& link_;
  const DeviceSet &all_, &own_;
  const TaskMap tasks_;
  MpiExchange exchange_;
  const TaskShare share_;
  const Placement* placement_ = nullptr;
  std::unique_ptr<Session> session_;
};

class MpiCluster final : public Cluster {
 public:
  MpiCluster(MessagePassing& ranks, std::vector<std::string> tasks, DeviceSet own, const std::atomic<bool>* stop)
      : ranks_(ranks), own_(std::move(own)), state_(std::make_shared<TaskState>(own_, GpuRunOptions{})) {
    link_ = std::make_unique<MpiLink>(ranks, std::move(tasks), stop);
  }
  ~MpiCluster() override {
    link_.reset();
    ranks_.finish();
  }

  /// FailedPrecondition: of another version.
  Status gather(const std::string& version) {
    TaskStatus own;
    own.protocol = message::kProtocol, own.version = version, own.name = own_.own_task;
    own.address = cat("rank ", link_->rank());
    std::random_device device;
    own.incarnation = (uint64_t{device()} << 32) | device();
    for (const Device& d : own_.devices)
      own.devices.push_back({d.name, static_cast<int>(d.kind), d.memory_limit, d.physical_description, d.physical_gpu});
    ASSIGN_OR_RETURN(tasks_.tasks, link_->all_gather(own));
    for (const TaskStatus& task : tasks_.tasks) {
      if (task.protocol != own.protocol || task.version != version)
        return failed_precondition(cat("emplace ", version, " on ", own.name, ", ", task.version, " on ", task.name));
    }
    return ok_status();
  }

  Result<std::unique_ptr<Session>> create_session(const GraphFile& file, const DeviceSet& devices,
                                                  const Placement& placement, const SessionOptions& options) override {
    if (options.observer || options.trace)
      return unimplemented("--engine mpi has no traces and looks at no nodes; --engine grpc traces");
    SessionOptions own = options;
    if (own.seed == 0) own.seed = tasks_.tasks.front().incarnation;
    std::vector<int> ranks;
    for (const std::string& name : TaskMap(devices).names) ranks.push_back(rank_of(name));
    auto made = std::make_unique<MpiSession>(*link_, devices, own_, std::move(ranks));
    Status status = made->create(file, placement, own, state_);
    ASSIGN_OR_RETURN(const std::vector<RankVerdict> all, verdicts(status, made->take_programs()));
    RETURN_IF_ERROR(first_failure(all));
    RETURN_IF_ERROR(same_programs(all, link_->tasks()));
    return std::unique_ptr<Session>(std::move(made));
  }

  bool tells(const Status& ended) override {
    if (std::exchange(judged_, false)) return link_->rank() == 0;  // all have ended in the same way
    const Result<std::vector<RankVerdict>> all = verdicts(ended, {});
    judged_ = false;
    for (size_t r = 0; all.ok() && r < static_cast<size_t>(link_->rank()); ++r) {
      if ((*all)[r].status.code != 0) return false;  // that one does
    }
    return true;
  }

 private:
  int rank_of(const std::string& task) const {
    const auto& tasks = link_->tasks();
    return static_cast<int>(std::find(tasks.begin(), tasks.end(), task) - tasks.begin());
  }
  Result<std::vector<RankVerdict>> verdicts(const Status& status, std::vector<std::string> programs) {
    judged_ = true;
    return link_->all_gather(RankVerdict{message::StatusMessage::of(status), std::move(programs)});
  }
  static Status first_failure(const std::vector<RankVerdict>& all) {
    for (const RankVerdict& one : all) {
      if (one.status.code != 0) return one.status.status();
    }
    return ok_status();
  }

  MessagePassing& ranks_;
  const DeviceSet own_;
  const std::shared_ptr<TaskState> state_;
  std::unique_ptr<MpiLink> link_;
  bool judged_ = false;  // all ranks have told each other how far they came with the session at hand
};

}  // namespace

Result<MessagePassing*> load_message_passing(const char* (*environment)(const char*)) {
  const char* named = environment("EMPLACE_MPI_PLUGIN");
  std::string file = named ? named : plugin_beside_program(kMessagePassingFile);
  if (file.empty() || !file_exists(file)) {
    return unavailable(cat("--engine mpi: no MPI plug-in (", kMessagePassingFile,
                           ") beside emplace: build it with 'scripts/build cluster'"))
        .blamed(Blame::kDevice);
  }
  if (file.find('/') == std::string::npos) file.insert(0, "./");
  Result<void*> library = open_plugin_file(file, "the MPI plug-in");
  if (!library.ok()) return library.status().blamed(Blame::kDevice);
  const auto find = reinterpret_cast<const MessagePassingPlugin* (*)()>(dlsym(*library, kMessagePassingSymbol));
  const MessagePassingPlugin* plugin = find ? find() : nullptr;
  if (!plugin || plugin->abi != kMessagePassingAbi)
    return unavailable(cat("the MPI plug-in ", file, " is of another build; build both together"))
        .blamed(Blame::kDevice);
  std::string error;
  MessagePassing* made = plugin->start(&error);
  if (!made) return unavailable(cat("--engine mpi: ", error)).blamed(Blame::kDevice);
  return made;
}

Result<std::shared_ptr<Cluster>> open_mpi_cluster(MessagePassing& ranks, const JobCounts& jobs, DeviceSet own,
                                                  const std::string& version, const std::atomic<bool>* stop) {
  std::vector<std::string> tasks;
  ClusterTask self;
  for (const auto& [job, count] : jobs) {
    for (int i = 0; i < count; ++i) {
      if (static_cast<int>(tasks.size()) == ranks.rank()) self = {job, i};
      tasks.push_back(ClusterTask{job, i}.name());
    }
  }
  if (static_cast<int>(tasks.size()) != ranks.size())
    return invalid_argument(cat("--jobs are ", tasks.size(), " tasks, but there are ", ranks.size(), " ranks"));
  auto made = std::make_shared<MpiCluster>(ranks, std::move(tasks), under_task(std::move(own), self), stop);
  RETURN_IF_ERROR(made->gather(version));
  return std::shared_ptr<Cluster>(std::move(made));
}

}  // namespace emplace
