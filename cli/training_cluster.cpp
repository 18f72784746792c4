#include "cli/training_cluster.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "cli/cluster_flags.h"
#include "cli/signals.h"
#include "core/base/cat.h"
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

}  // namespace

void declare_training_cluster(OptionSet& set, TrainingClusterFlags& flags) {
  set.group("On the tasks of a cluster, each of which runs this command");
  set.text(
      "spawn", "JOB=N,...",
      "Start the others from here: ps=1,worker=2; GPUs of all but the job ps are replicas, or CPUs where there is none",
      flags.spawn);
  declare_server(set, flags.server);
  set.flag("until-eof", "Tasks other than the chief end when standard input does", flags.until_eof);
}

bool is_chief(const TrainingClusterFlags& flags, const PipelineOptions& options) {
  if (!flags.given() || flags.starts_others()) return true;
  const Result<ClusterChoice> choice = choose_cluster(flags.server.choice, options.given, true);
  return !choice.ok() || choice->self == master_of(choice->cluster);
}

Result<std::unique_ptr<TrainingCluster>> TrainingCluster::open(const TrainingClusterFlags& flags,
                                                               const PipelineOptions& options, Log& log) {
  std::unique_ptr<TrainingCluster> made(new TrainingCluster(flags, options, log));
  ASSIGN_OR_RETURN(made->transport_, load_transport(environment_variable));
  RETURN_IF_ERROR(made->choose());
  Result<DeviceSet> devices = find_devices(options, log);
  if (!devices.ok()) return devices.status();
  if (!devices->runnable)
    return invalid_argument("--devices describes devices, which run nothing").blamed(Blame::kUsage);
  made->server_options_.devices = devices.take();
  made->server_options_.say = [&log](const std::string& line) { log.info(line); };
  return made;
}

TrainingCluster::~TrainingCluster() {
  constexpr double kToEnd = 2;
  if (gathering_) gathering_->end({1, "the chief has ended"});
  if (spawned_) spawned_->wait(kToEnd);
  cluster_.reset();
  server_.reset();
}

Status TrainingCluster::choose() {
  PipelineOptions with_task = options_;
  if (flags_.starts_others()) {
    if (!flags_.server.choice.cluster.empty())
      return invalid_argument("--spawn and --cluster exclude each other").blamed(Blame::kUsage);
    ASSIGN_OR_RETURN(spawned_, SpawnedTasks::start_beside_master(flags_.spawn, own_command("--spawn")));
    flags_.server.choice.cluster = spawned_->cluster();
    flags_.server.choice.job = spawned_->master_task().job;
    flags_.server.choice.index = spawned_->master_task().index;
    with_task.given.insert({"job-name", "task-index"});
  }
  Result<TaskServerOptions> server = server_options(flags_.server, with_task, log_);
  if (!server.ok()) return server.status().blamed(Blame::kUsage);
  server_options_ = server.take();
  self_ = server_options_.self;
  if (server_options_.coordinator) {
    return unimplemented(
               "train needs the addresses of all tasks: --cluster env without TF_CONFIG is of 'emplace serve'")
        .blamed(Blame::kUsage);
  }
  chief_ = master_of(server_options_.cluster);
  return ok_status();
}

Status TrainingCluster::start_server(RequestHandler* gathering) {
  server_options_.gathering = gathering;
  ASSIGN_OR_RETURN(server_, TaskServer::start(*transport_, server_options_));
  log_.info(cat("Started server with target: ", server_->target(), " (", self_.name(), "; ",
                protection_text(flags_.server), ")"));
  return ok_status();
}

Status TrainingCluster::gather(const TaskFacts& facts) {
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

void TrainingCluster::end(const GatheringEnd& how) {
  if (gathering_) gathering_->end(how);
}

Result<GatheringEnd> TrainingCluster::serve(const TaskFacts& facts) {
  RETURN_IF_ERROR(start_server(nullptr));
  ASSIGN_OR_RETURN(const std::string address, address_of(server_options_.cluster, chief_));
  Peer chief(*transport_, chief_.name(), address, server_options_.transport);
  const auto signal = [this] {
    return caught_signal() == 0 && flags_.until_eof && input_ended() ? -1 : caught_signal();
  };
  return attend(chief, self_.name(), facts, flags_.server.access.connect_timeout_s, signal,
                [this](const std::string& line) { log_.info(line); });
}

}  // namespace emplace
