#include "cli/cluster_flags.h"

#include <utility>

#include "cli/signals.h"
#include "cli/spawned_tasks.h"
#include "core/base/cat.h"
#include "core/base/program_version.h"
#include "core/cluster/load_transport.h"
#include "core/pipeline.h"
#include "core/pipeline_stage.h"

namespace emplace {
namespace {

void declare_cluster_of_master(OptionSet& set, ClusterFlags& flags) {
  set.list("cluster", "JOB=HOST:PORT,...",
           "Instead of --master: the first chief of these, else worker, else task; also @FILE, or env: TF_CONFIG",
           flags.server.choice.cluster, {"env", "@FILE"});
  declare_cluster_access(set, flags.server.access);
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
  ASSIGN_OR_RETURN(const ClusterChoice choice, choose_cluster(flags.server.choice, options, false));
  if (!choice.said.empty()) log.info(choice.said);
  const ClusterTask master = choice.self ? *choice.self : master_of(choice.cluster);
  ASSIGN_OR_RETURN(const std::string address, address_of(choice.cluster, master));
  return cat("grpc://", address);
}

}  // namespace

void declare_cluster(OptionSet& set, ClusterFlags& flags) {
  set.about("a cluster", {"master", "local-server", "spawn", "engine", "cluster", "jobs"});
  set.group("On the tasks of a cluster");
  set.text("master", "TARGET", "Run on the servers that this one knows: grpc://localhost:2222", flags.master);
  set.flag("local-server", "Run on a server in this process", flags.local_server);
  set.text("spawn", "JOB=N,...", "Run on servers that are started for it: ps=1,worker=2", flags.spawn);
  set.group(
      "On the tasks of --cluster, or as one of them: each runs this command, the first chief, else worker, tells");
  declare_engine(set, flags.mpi);
  declare_server(set, flags.server);
  set.about("");
}

void declare_cluster_to_see(OptionSet& set, ClusterFlags& flags) {
  set.about("a cluster", {"master", "cluster"});
  set.group("Of a cluster");
  set.text("master", "TARGET", "All tasks that this server knows: grpc://localhost:2222", flags.master);
  declare_cluster_of_master(set, flags);
  set.about("");
}

void declare_cluster_to_plan(OptionSet& set, ClusterFlags& flags, PipelineOptions& pipeline) {
  set.about("a cluster", {"master", "cluster"});
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
  set.about("");
}

bool is_target(std::string_view master) { return master.find("://") != master.npos; }

ClusterUse::ClusterUse() = default;
ClusterUse::~ClusterUse() = default;

Status ClusterUse::open(const ClusterFlags& flags, const PipelineOptions& options, Log& log) {
  if (!flags.given()) return ok_status();
  const int ways = (flags.master.empty() ? 0 : 1) + (flags.spawn.empty() ? 0 : 1) + (flags.local_server ? 1 : 0) +
                   (flags.server.choice.cluster.empty() ? 0 : 1);
  if (ways > 1)
    return invalid_argument("--master, --cluster, --local-server and --spawn exclude each other").blamed(Blame::kUsage);
  if (!flags.local_server && flags.spawn.empty()) RETURN_IF_ERROR(check_device_flags(options));
  ASSIGN_OR_RETURN(Transport * transport, load_transport(environment_variable));
  ASSIGN_OR_RETURN(const TransportOptions wire, transport_options(flags.server.access));
  std::string target = flags.master;
  if (!flags.server.choice.cluster.empty()) {
    Result<std::string> chosen = target_of(flags, options, log);
    if (!chosen.ok()) return chosen.status().blamed(Blame::kUsage);
    target = chosen.take();
  }
  if (flags.local_server) {
    ASSIGN_OR_RETURN(target, start_local(*transport, wire, flags.server.data_roots, options, log));
  } else if (!flags.spawn.empty()) {
    ASSIGN_OR_RETURN(spawned_, SpawnedTasks::start(flags.spawn, flags.server, options.devices, log));
    target = spawned_->master();
  }
  Result<std::shared_ptr<RemoteCluster>> opened = RemoteCluster::open(*transport, target, wire);
  if (!opened.ok()) return opened.status().blamed(Blame::kUsage);
  RETURN_IF_ERROR((*opened)->connect(flags.server.access.connect_timeout_s, !flags.spawn.empty(), &stop_flag(),
                                     [&](const std::string& line) { log.info(line); }));
  cluster_ = opened.take();
  return ok_status();
}

Result<std::string> ClusterUse::start_local(Transport& transport, const TransportOptions& wire,
                                            const std::vector<std::string>& data_roots, const PipelineOptions& options,
                                            Log& log) {
  TaskServerOptions server;
  server.self = {"localhost", 0};
  server.cluster.jobs["localhost"][0] = "localhost:0";
  server.bind = "127.0.0.1:0";
  server.version = program_version();
  ASSIGN_OR_RETURN(server.devices, find_devices(options, log));
  server.data_roots = data_roots;
  server.transport = wire;
  ASSIGN_OR_RETURN(local_, TaskServer::start(transport, std::move(server)));
  return local_->target();
}

}  // namespace emplace
