#include "cli/task_group.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include "cli/signals.h"
#include "core/base/cat.h"
#include "core/base/program_version.h"
#include "core/base/units.h"
#include "core/cluster/load_message_passing.h"
#include "core/cluster/load_transport.h"
#include "core/pipeline.h"
#include "core/pipeline_stage.h"

namespace emplace {
namespace {

/// This process's command line without the option `name` and its value.
std::vector<std::string> own_command(const std::string& name) {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> out;
  bool value_follows = false;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\0', begin), text.size());
    std::string argument = text.substr(begin, end - begin);
    begin = end + 1;
    if (std::exchange(value_follows, argument == name)) continue;
    if (argument == name || argument.starts_with(name + "=")) continue;
    out.push_back(std::move(argument));
  }
  return out;
}

/// The command of the tasks that this one starts: what they say comes here by their standard error, whatever file a
/// configuration names for it.
std::vector<std::string> command_of_others() {
  std::vector<std::string> command = own_command("--spawn");
  command.insert(command.end(), {"--log-file", "/dev/stderr"});
  return command;
}

/// The transport of this process, which lives as long as it: MPI starts once.
Result<MpiTransport*> start_mpi() {
  ASSIGN_OR_RETURN(MessagePassing * ranks, load_message_passing(environment_variable));
  return new MpiTransport(*ranks);
}

/// The jobs of so many ranks; without --jobs, all are workers. Errors are of usage.
Result<JobCounts> jobs_of_ranks(const std::string& given, int ranks) {
  if (given.empty()) return JobCounts{{"worker", ranks}};
  Result<JobCounts> jobs = parse_job_counts(given, "--jobs");
  if (!jobs.ok()) return jobs.status().blamed(Blame::kUsage);
  int tasks = 0;
  for (const auto& [job, count] : *jobs) tasks += count;
  if (tasks == ranks) return jobs;
  return invalid_argument(
             cat("--jobs ", given, " are ", tasks, " tasks, but there are ", ranks, ranks == 1 ? " rank" : " ranks"))
      .blamed(Blame::kUsage);
}

/// Which rank is which task, in their order.
std::vector<ClusterTask> tasks_of_ranks(const JobCounts& jobs) {
  std::vector<ClusterTask> tasks;
  for (const auto& [job, count] : jobs) {
    for (int i = 0; i < count; ++i) tasks.push_back({job, i});
  }
  return tasks;
}

ClusterSpec cluster_of_ranks(const std::vector<ClusterTask>& tasks) {
  ClusterSpec cluster;
  for (size_t rank = 0; rank < tasks.size(); ++rank)
    cluster.jobs[tasks[rank].job][tasks[rank].index] = MpiTransport::address(static_cast<int>(rank));
  return cluster;
}

/// Before MPI has started.
bool is_chief_rank(const std::string& given) {
  const std::optional<int> rank = rank_of_environment(environment_variable);
  if (!rank || given.empty()) return rank.value_or(0) == 0;
  const Result<JobCounts> jobs = parse_job_counts(given, "--jobs");
  if (!jobs.ok()) return true;
  const std::vector<ClusterTask> tasks = tasks_of_ranks(*jobs);
  return static_cast<size_t>(*rank) < tasks.size() &&
         tasks[static_cast<size_t>(*rank)] == master_of(cluster_of_ranks(tasks));
}

}  // namespace

void declare_engine(OptionSet& set, bool& mpi) {
  set.value("engine", "ENGINE",
            "What carries messages: grpc (default), or mpi under mpirun or srun: every rank is a task, of --jobs "
            "(default worker=N)",
            set_choice<bool>(mpi, {{"grpc", false}, {"mpi", true}}));
}

void declare_task_group(OptionSet& set, TaskGroupFlags& flags) {
  set.about("a cluster", {"spawn", "engine", "cluster", "jobs"});
  set.group("On the tasks of a cluster, each of which runs this command");
  set.text(
      "spawn", "JOB=N,...",
      "Start the others from here: ps=1,worker=2; GPUs of all but the job ps are replicas, or CPUs where there is none",
      flags.spawn);
  declare_engine(set, flags.mpi);
  declare_server(set, flags.server);
  set.about("");  // the training judges these two
  set.value(
      "on-peer-loss", "ACTION",
      "mirrored: when a worker is lost, fail (default), or regroup: go on with the others from the last whole step",
      set_choice<bool>(flags.regroups, {{"fail", false}, {"regroup", true}}));
  set.value("min-workers", "N", "Of regroup: with fewer left, fail (default 1)", set_integer(flags.min_workers, 1));
  set.about("a cluster");
  set.flag("until-eof", "Tasks other than the chief end when standard input does", flags.until_eof);
  set.about("");
}

bool is_chief(const TaskGroupFlags& flags, const PipelineOptions& options) {
  if (flags.mpi) return is_chief_rank(flags.server.choice.jobs);
  if (!flags.given(options) || flags.starts_others()) return true;
  const Result<ClusterChoice> choice = choose_cluster(flags.server.choice, options, true);
  return !choice.ok() || choice->self == master_of(choice->cluster);
}

Result<std::unique_ptr<TaskGroup>> TaskGroup::open(const TaskGroupFlags& flags, const PipelineOptions& options,
                                                   Log& log) {
  std::unique_ptr<TaskGroup> made(new TaskGroup(flags, options, log));
  RETURN_IF_ERROR(flags.mpi ? made->choose_by_rank() : made->choose());
  Result<DeviceSet> devices = find_devices(options, log);
  if (!devices.ok()) return devices.status();
  if (!devices->runnable)
    return invalid_argument("--devices describes devices, which run nothing").blamed(Blame::kUsage);
  made->server_options_.devices = devices.take();
  made->server_options_.say = [&log](const std::string& line) { log.info(line); };
  return made;
}

TaskGroup::~TaskGroup() {
  constexpr double kToEnd = 2;
  if (gathering_) gathering_->end({1, "the chief has ended"});
  if (spawned_) spawned_->wait(kToEnd);
  cluster_.reset();
  server_.reset();
  if (ranks_) ranks_->finish();
}

Status TaskGroup::choose_by_rank() {
  if (flags_.regroups) {
    return invalid_argument(
               "--engine mpi: MPI ends the job when a rank is lost; --on-peer-loss regroup is of --engine grpc")
        .blamed(Blame::kUsage);
  }
  for (const std::string_view flag : {"spawn", "cluster", "coordinator", "job-name", "task-index", "bind", "insecure",
                                      "token-file", "tls-cert", "tls-key", "tls-ca", "heartbeat", "dead-after"}) {
    const bool is_given = flag == "spawn"     ? !flags_.spawn.empty()
                          : flag == "cluster" ? !flags_.server.choice.cluster.empty()
                                              : options_.typed.contains(flag);
    if (is_given) {
      return invalid_argument(cat("--engine mpi: mpirun or srun starts all tasks, at once; --", flag,
                                  " is for servers, which --engine grpc has"))
          .blamed(Blame::kUsage);
    }
  }
  ASSIGN_OR_RETURN(ranks_, start_mpi());
  transport_ = ranks_;
  ASSIGN_OR_RETURN(const JobCounts jobs, jobs_of_ranks(flags_.server.choice.jobs, ranks_->size()));
  const std::vector<ClusterTask> tasks = tasks_of_ranks(jobs);
  server_options_.cluster = cluster_of_ranks(tasks);
  server_options_.self = self_ = tasks[static_cast<size_t>(ranks_->rank())];
  server_options_.bind = MpiTransport::address(ranks_->rank());
  server_options_.version = program_version();
  server_options_.collectives = &ranks_->ranks();
  server_options_.data_roots = flags_.server.data_roots;
  chief_ = master_of(server_options_.cluster);
  if (!is_chief()) log_.set_level(LogLevel::kError);  // the chief speaks
  return ok_status();
}

Status TaskGroup::choose() {
  ASSIGN_OR_RETURN(transport_, load_transport(environment_variable));
  PipelineOptions with_task = options_;
  if (flags_.starts_others()) {
    if (!flags_.server.choice.cluster.empty())
      return invalid_argument("--spawn and --cluster exclude each other").blamed(Blame::kUsage);
    ASSIGN_OR_RETURN(spawned_, SpawnedTasks::start_beside_master(flags_.spawn, command_of_others(), log_));
    flags_.server.choice.cluster = spawned_->cluster();
    flags_.server.choice.job = spawned_->master_task().job;
    flags_.server.choice.index = spawned_->master_task().index;
    with_task.given.insert({"job-name", "task-index"});
  }
  Result<TaskServerOptions> server = server_options(flags_.server, with_task, log_);
  if (!server.ok()) return server.status().blamed(Blame::kUsage);
  server_options_ = server.take();
  self_ = server_options_.self;
  server_options_.join_timeout_s = flags_.server.access.connect_timeout_s;
  chief_ = master_of(server_options_.cluster);
  return ok_status();
}

Status TaskGroup::start_server(RequestHandler* gathering) {
  server_options_.gathering = gathering;
  ASSIGN_OR_RETURN(server_, TaskServer::start(*transport_, server_options_));
  if (!flags_.mpi) {
    log_.info(cat("Started server with target: ", server_->target(), " (", self_.name(), "; ",
                  protection_text(flags_.server), ")"));
  }
  return ok_status();
}

Status TaskGroup::gather(const TaskFacts& facts) {
  std::vector<std::string> others;
  for (const auto& [job, tasks] : server_options_.cluster.jobs) {
    for (const auto& [index, address] : tasks) {
      const ClusterTask task{job, index};
      if (!(task == self_)) others.push_back(task.name());
    }
  }
  const double timeout = flags_.server.access.connect_timeout_s;
  gathering_ = std::make_unique<Gathering>(self_.name(), others, facts, stop_from_afar);
  RETURN_IF_ERROR(start_server(gathering_.get()));
  ASSIGN_OR_RETURN(cluster_, RemoteCluster::open(*transport_, server_->target(), server_options_.transport));
  const auto say = [this](const std::string& line) { log_.info(line); };
  const auto still = [this] { return spawned_ ? spawned_->alive() : ok_status(); };
  RETURN_IF_ERROR(gathering_->wait(timeout, stop_flag(), still, say));
  return cluster_->connect(timeout, false, &stop_flag(), say);
}

int64_t TaskGroup::workers() const {
  const auto& tasks = cluster_->tasks().tasks;
  return std::count_if(tasks.begin(), tasks.end(), [](const auto& t) { return !t.name.starts_with("/job:ps/"); });
}

std::optional<std::string> TaskGroup::take_back() {
  // Who has joined again is connected to in a moment: its connection was broken.
  constexpr std::chrono::seconds kToConnect{2};
  const auto end = std::chrono::steady_clock::now() + kToConnect;
  for (;;) {
    const Result<size_t> tasks = cluster_->take_tasks_anew();
    if (!tasks.ok()) return std::nullopt;
    if (*tasks >= gathering_->present() || std::chrono::steady_clock::now() > end || stop_flag()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return counted(workers(), "worker");
}

std::optional<std::string> TaskGroup::regroup() {
  const int64_t before = workers();
  const Result<size_t> lost = cluster_->forget_lost_tasks();
  if (!lost.ok() || *lost == 0 || workers() < flags_.min_workers) return std::nullopt;
  return cat(before, " -> ", workers(), workers() == 1 ? " worker" : " workers");
}

void TaskGroup::end(const GatheringEnd& how) {
  if (gathering_) gathering_->end(how);
}

Result<GatheringEnd> TaskGroup::serve(const TaskFacts& facts) {
  RETURN_IF_ERROR(start_server(nullptr));
  ASSIGN_OR_RETURN(const std::string address, address_of(server_->cluster(), chief_));
  Peer chief(*transport_, chief_.name(), address, server_options_.transport);
  const auto signal = [this] {
    return caught_signal() == 0 && flags_.until_eof && input_ended() ? -1 : caught_signal();
  };
  return attend(chief, self_.name(), facts, flags_.server.access.connect_timeout_s, signal,
                [this](const std::string& line) { log_.info(line); });
}

}  // namespace emplace
