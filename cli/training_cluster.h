/// `emplace train` on several tasks: the same command runs on each. One of them, the chief, places, runs and tells;
/// the others serve it until the training ends.
#pragma once

#include <memory>
#include <string>

#include "cli/server_flags.h"
#include "cli/spawned_tasks.h"
#include "core/cluster/gathering.h"
#include "core/cluster/remote_session.h"

namespace emplace {

struct TrainingClusterFlags {
  ServerFlags server;
  std::string spawn;
  bool until_eof = false;
  /// A task that was started so has --spawn in its environment or configuration file, too.
  bool starts_others() const { return !spawn.empty() && !until_eof; }
  bool given() const { return !spawn.empty() || !server.choice.cluster.empty() || !server.choice.jobs.empty(); }
};
void declare_training_cluster(OptionSet& set, TrainingClusterFlags& flags);
/// Is this process the one that tells and writes? Also where there is no cluster, or it cannot be known.
bool is_chief(const TrainingClusterFlags& flags, const PipelineOptions& options);

class TrainingCluster {
 public:
  /// Says which task this process is, and starts those of --spawn. All must outlive it.
  static Result<std::unique_ptr<TrainingCluster>> open(const TrainingClusterFlags& flags,
                                                       const PipelineOptions& options, Log& log);
  ~TrainingCluster();

  bool is_chief() const { return self_ == chief_; }
  /// The chief's: takes requests from now on, and waits until all tasks are there and about to do the same.
  Status gather(const TaskFacts& facts);
  /// After gather().
  RemoteCluster* cluster() const { return cluster_.get(); }
  /// Tells the others how the training ended.
  void end(const GatheringEnd& how);

  /// Of the others: serves the chief until the training has ended.
  Result<GatheringEnd> serve(const TaskFacts& facts);

 private:
  TrainingCluster(const TrainingClusterFlags& flags, const PipelineOptions& options, Log& log)
      : flags_(flags), options_(options), log_(log) {}
  Status choose();
  Status start_server(RequestHandler* gathering);

  TrainingClusterFlags flags_;  // --spawn made --cluster
  const PipelineOptions& options_;
  Log& log_;
  Transport* transport_ = nullptr;
  TaskServerOptions server_options_;
  ClusterTask self_, chief_;
  std::unique_ptr<SpawnedTasks> spawned_;
  std::unique_ptr<Gathering> gathering_;
  std::unique_ptr<TaskServer> server_;
  std::shared_ptr<RemoteCluster> cluster_;
};

}  // namespace emplace
