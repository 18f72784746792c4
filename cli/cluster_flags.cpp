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

void declare_cluster(OptionSet& set, ClusterFlags& flags) {
  set.group("On the tasks of a cluster");
  set.text("master", "TARGET", "Run on the servers that this one knows: grpc://localhost:2222", flags.master);
  set.flag("local-server", "Run on a server in this process", flags.local_server);
  set.text("spawn", "JOB=N,...", "Run on servers that are started for it: ps=1,worker=2", flags.spawn);
  declare_cluster_access(set, flags.access);
}

ClusterUse::ClusterUse() = default;
ClusterUse::~ClusterUse() = default;

Status ClusterUse::open(const ClusterFlags& flags, const PipelineOptions& options, Log& log) {
  if (!flags.given()) return ok_status();
  if ((flags.master.empty() ? 0 : 1) + (flags.spawn.empty() ? 0 : 1) + (flags.local_server ? 1 : 0) > 1)
    return invalid_argument("--master, --local-server and --spawn exclude each other").blamed(Blame::kUsage);
  ASSIGN_OR_RETURN(Transport * transport, load_transport(environment_variable));
  ASSIGN_OR_RETURN(const TransportOptions wire, transport_options(flags.access));
  std::string target = flags.master;
  if (flags.local_server) {
    ASSIGN_OR_RETURN(target, start_local(*transport, wire, options, log));
  } else if (!flags.spawn.empty()) {
    ASSIGN_OR_RETURN(spawned_, SpawnedTasks::start(flags.spawn, flags.access));
    target = spawned_->master();
  }
  Result<std::shared_ptr<RemoteCluster>> opened = RemoteCluster::open(*transport, target, wire);
  if (!opened.ok()) return opened.status().blamed(Blame::kUsage);
  RETURN_IF_ERROR((*opened)->connect(flags.access.connect_timeout_s, !flags.spawn.empty(), &stop_flag(),
                                     [&](const std::string& line) { log.info(line); }));
  cluster_ = opened.take();
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
