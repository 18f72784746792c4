/// The flags of commands that run graphs on the tasks of a cluster, and what they lead to.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/option_set.h"
#include "cli/task_group.h"
#include "core/base/log.h"
#include "core/cluster/remote_session.h"
#include "core/cluster/task_server.h"
#include "core/pipeline_options.h"

namespace emplace {

/// Where graphs run, if not in this process.
struct ClusterFlags {
  std::string master, spawn;
  bool local_server = false;
  bool mpi = false;    // --engine
  ServerFlags server;  // of it, --cluster alone where this process is none of the tasks
  bool given() const { return !master.empty() || !spawn.empty() || local_server || !server.choice.cluster.empty(); }
};
void declare_cluster(OptionSet& set, ClusterFlags& flags);
/// Of commands that run nothing: --master and --cluster.
void declare_cluster_to_see(OptionSet& set, ClusterFlags& flags);
/// Of commands that plan: the same, and --master also names a task of --devices, which `pipeline` gets.
void declare_cluster_to_plan(OptionSet& set, ClusterFlags& flags, PipelineOptions& pipeline);

class SpawnedTasks;

/// --master where it is no task of --devices but a server.
bool is_target(std::string_view master);

/// The cluster behind the flags, connected; what was started for it ends with it.
class ClusterUse {
 public:
  ClusterUse();
  ~ClusterUse();
  ClusterUse(const ClusterUse&) = delete;
  ClusterUse& operator=(const ClusterUse&) = delete;

  Status open(const ClusterFlags& flags, const PipelineOptions& options, Log& log);
  /// Null before open(), and where no flag was given.
  Cluster* cluster() const { return cluster_.get(); }

 private:
  Result<std::string> start_local(Transport& transport, const TransportOptions& wire,
                                  const std::vector<std::string>& data_roots, const PipelineOptions& options, Log& log);

  std::unique_ptr<SpawnedTasks> spawned_;
  std::unique_ptr<TaskServer> local_;
  std::shared_ptr<Cluster> cluster_;
};

}  // namespace emplace
