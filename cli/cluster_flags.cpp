#include "cli/cluster_flags.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "cli/signals.h"
#include "cli/spawned_tasks.h"
#include "core/base/cat.h"
#include "core/base/program_version.h"
#include "core/cluster/load_transport.h"
#include "core/cluster/mpi_cluster.h"
#include "core/pipeline.h"
#include "core/pipeline_stage.h"

namespace emplace {
namespace {

void declare_cluster_of_master(OptionSet& set, ClusterFlags& flags) {
  set.list("cluster", "JOB=HOST:PORT,...",
           "Instead of --master: the first chief of these, else worker, else task; also @FILE, or env: TF_CONFIG",
           flags.choice.cluster);
  declare_cluster_access(set, flags.access);
}

/// What describes the devices of this process, which run nothing where servers do.
Status check_device_flags(const PipelineOptions& options) {
  for (const char* name : {"devices", "simulate-gpus", "visible-devices", "device-count", "logical-gpus",
                           "memory-fraction", "memory-limit", "require-gpu"}) {
    if (options.given.contains(name))
      return invalid_argument(cat("--", name, " is of the devices of one process; give it to 'emplace serve'"))
          .blamed(Blame::kUsage);
  }
  return ok_status();
}

/// The task of --cluster that a session talks to.
Result<std::string> target_of(const ClusterFlags& flags, const PipelineOptions& options, Log& log) {
  ASSIGN_OR_RETURN(const ClusterChoice choice, choose_cluster(flags.choice, options.given, false));
  if (!choice.said.empty()) log.info(choice.said);
  const ClusterTask master = choice.self ? *choice.self : master_of(choice.cluster);
  ASSIGN_OR_RETURN(const std::string address, address_of(choice.cluster, master));
  return cat("grpc://", address);
}

}  // namespace

void declare_cluster(OptionSet& set, ClusterFlags& flags) {
  set.group("On the tasks of a cluster");
  set.text("master", "TARGET", "Run on the servers that this one knows: grpc://localhost:2222", flags.master);
  set.flag("local-server", "Run on a server in this process", flags.local_server);
  set.text("spawn", "JOB=N,...", "Run on servers that are started for it: ps=1,worker=2", flags.spawn);
  set.value("engine", "ENGINE",
            "What carries messages: grpc (default), or mpi under mpirun or srun: every rank is a task",
            set_choice<bool>(flags.mpi, {{"grpc", false}, {"mpi", true}}));
  set.text("jobs", "JOB=N,...", "Of --engine mpi: the jobs, in the order in which ranks fill them (default worker=N)",
           flags.choice.jobs);
  declare_cluster_of_master(set, flags);
}

void declare_cluster_to_see(OptionSet& set, ClusterFlags& flags) {
  set.group("Of a cluster");
  set.text("master", "TARGET", "All tasks that this server knows: grpc://localhost:2222", flags.master);
  declare_cluster_of_master(set, flags);
}

void declare_cluster_to_plan(OptionSet& set, ClusterFlags& flags, PipelineOptions& pipeline) {
  set.group("On the tasks of a cluster");
  set.value(
      "master", "TARGET",
      "Plan for the servers that this one knows: grpc://localhost:2222; or for a session on this task of --devices: "
      "/job:worker/task:0",
      [&flags, &pipeline](const std::string& text) {
        (is_target(text) ? flags.master : pipeline.devices.own_task) = text;
        return ok_status();
      });
  declare_cluster_of_master(set, flags);
}

bool is_target(std::string_view master) { return master.find("://") != master.npos; }

ClusterUse::ClusterUse() = default;
ClusterUse::~ClusterUse() = default;

Status ClusterUse::open(const ClusterFlags& flags, const PipelineOptions& options, Log& log) {
  if (!flags.given()) return ok_status();
  if (flags.mpi) return start_mpi(flags, options, log);
  if (!flags.choice.jobs.empty()) return invalid_argument("--jobs is of --engine mpi").blamed(Blame::kUsage);
  const int ways = (flags.master.empty() ? 0 : 1) + (flags.spawn.empty() ? 0 : 1) + (flags.local_server ? 1 : 0) +
                   (flags.choice.cluster.empty() ? 0 : 1);
  if (ways > 1)
    return invalid_argument("--master, --cluster, --local-server and --spawn exclude each other").blamed(Blame::kUsage);
  if (!flags.local_server && flags.spawn.empty()) RETURN_IF_ERROR(check_device_flags(options));
  ASSIGN_OR_RETURN(Transport * transport, load_transport(environment_variable));
  ASSIGN_OR_RETURN(const TransportOptions wire, transport_options(flags.access));
  std::string target = flags.master;
  if (!flags.choice.cluster.empty()) {
    Result<std::string> chosen = target_of(flags, options, log);
    if (!chosen.ok()) return chosen.status().blamed(Blame::kUsage);
    target = chosen.take();
  }
  if (flags.local_server) {
    ASSIGN_OR_RETURN(target, start_local(*transport, wire, options, log));
  } else if (!flags.spawn.empty()) {
    ASSIGN_OR_RETURN(spawned_, SpawnedTasks::start(flags.spawn, flags.access, options.devices));
    target = spawned_->master();
  }
  Result<std::shared_ptr<RemoteCluster>> opened = RemoteCluster::open(*transport, target, wire);
  if (!opened.ok()) return opened.status().blamed(Blame::kUsage);
  RETURN_IF_ERROR((*opened)->connect(flags.access.connect_timeout_s, !flags.spawn.empty(), &stop_flag(),
                                     [&](const std::string& line) { log.info(line); }));
  cluster_ = opened.take();
  return ok_status();
}

Status ClusterUse::start_mpi(const ClusterFlags& flags, const PipelineOptions& options, Log& log) {
  for (const auto& [flag, is_given] : {std::pair("--master", !flags.master.empty()),
                                       {"--cluster", !flags.choice.cluster.empty()},
                                       {"--spawn", !flags.spawn.empty()},
                                       {"--local-server", flags.local_server}}) {
    if (is_given) {
      return invalid_argument(cat("--engine mpi: mpirun or srun starts all tasks, at once; ", flag,
                                  " is for servers, which --engine grpc has"))
          .blamed(Blame::kUsage);
    }
  }
  JobCounts jobs;
  if (!flags.choice.jobs.empty()) {
    Result<JobCounts> typed = parse_job_counts(flags.choice.jobs, "--jobs");
    if (!typed.ok()) return typed.status().blamed(Blame::kUsage);
    jobs = typed.take();
  }
  ASSIGN_OR_RETURN(MessagePassing * ranks, load_message_passing(environment_variable));
  if (jobs.empty()) jobs.emplace_back("worker", ranks->size());
  ASSIGN_OR_RETURN(DeviceSet own, find_devices(options, log));
  Result<std::shared_ptr<Cluster>> made =
      open_mpi_cluster(*ranks, jobs, std::move(own), program_version(), &stop_flag());
  if (!made.ok()) return made.status().blamed(Blame::kUsage);
  cluster_ = made.take();
  if (ranks->rank() == 0) return ok_status();
  log.set_level(LogLevel::kError);  // the first rank speaks
  if (const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC); nowhere >= 0) {
    dup2(nowhere, STDOUT_FILENO);
    close(nowhere);
  }
  return ok_status();
}

Result<std::string> ClusterUse::start_local(Transport& transport, const TransportOptions& wire,
                                            const PipelineOptions& options, Log& log) {
  TaskServerOptions server;
  server.self = {"localhost", 0};
  server.cluster.jobs["localhost"][0] = "localhost:0";
  server.bind = "127.0.0.1:0";
  server.version = program_version();
  ASSIGN_OR_RETURN(server.devices, find_devices(options, log));
  server.transport = wire;
  ASSIGN_OR_RETURN(local_, TaskServer::start(transport, std::move(server)));
  return local_->target();
}

}  // namespace emplace
