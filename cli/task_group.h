/// One command that runs on several tasks, on each of which it was started. One of them, the chief, places, runs and
/// tells; the others serve it until it has ended. Over gRPC, or between the ranks of an MPI job.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/server_flags.h"
#include "cli/spawned_tasks.h"
#include "core/cluster/gathering.h"
#include "core/cluster/mpi_transport.h"
#include "core/cluster/remote_session.h"

namespace emplace {

struct TaskGroupFlags {
  ServerFlags server;
  std::string spawn;
  bool until_eof = false;
  bool mpi = false;  // --engine
  bool regroups = false;
  int64_t min_workers = 1;
  /// A task that was started so has --spawn in its environment or configuration file, too.
  bool starts_others() const { return !spawn.empty() && !until_eof; }
  bool given(const PipelineOptions& options) const {
    return !spawn.empty() || !server.choice.cluster.empty() || is_task_itself(mpi, server.choice, options);
  }
};
void declare_engine(OptionSet& set, bool& mpi);
/// Of a training.
void declare_task_group(OptionSet& set, TaskGroupFlags& flags);
/// Is this process the one that tells and writes? Also where there is no group, or it cannot be known.
bool is_chief(const TaskGroupFlags& flags, const PipelineOptions& options);

class TaskGroup {
 public:
  /// Says which task this process is, and starts those of --spawn. All must outlive it.
  static Result<std::unique_ptr<TaskGroup>> open(const TaskGroupFlags& flags, const PipelineOptions& options, Log& log);
  ~TaskGroup();

  bool is_chief() const { return self_ == chief_; }
  /// All tasks tell on one terminal: the chief tells for all.
  bool shares_terminal() const { return flags_.mpi; }
  /// The chief's: takes requests from now on, and waits until all tasks are there and about to do the same.
  Status gather(const TaskFacts& facts);
  /// After gather(): from now on a task that was lost may join again; one_returned() says that one has.
  void let_lost_tasks_return() { gathering_->let_lost_tasks_return(); }
  bool one_returned() { return gathering_->one_returned(); }
  /// Of a training that goes on with them, too: "3 workers". Nothing: it cannot.
  std::optional<std::string> take_back();
  /// After gather().
  RemoteCluster* cluster() const { return cluster_.get(); }
  /// Of a training that goes on without workers that are lost: "3 -> 2 workers". Nothing: it cannot, because none is,
  /// or too many are.
  std::optional<std::string> regroup();
  /// Tells the others how it ended.
  void end(const GatheringEnd& how);

  /// Of the others: serves the chief until it has ended.
  Result<GatheringEnd> serve(const TaskFacts& facts);

 private:
  TaskGroup(const TaskGroupFlags& flags, const PipelineOptions& options, Log& log)
      : flags_(flags), options_(options), log_(log) {}
  int64_t workers() const;
  Status choose();
  Status choose_by_rank();
  Status start_server(RequestHandler* gathering);

  TaskGroupFlags flags_;  // --spawn made --cluster
  const PipelineOptions& options_;
  Log& log_;
  MpiTransport* ranks_ = nullptr;  // of --engine mpi: the transport
  Transport* transport_ = nullptr;
  TaskServerOptions server_options_;
  ClusterTask self_, chief_;
  std::unique_ptr<SpawnedTasks> spawned_;
  std::unique_ptr<Gathering> gathering_;
  std::unique_ptr<TaskServer> server_;
  std::shared_ptr<RemoteCluster> cluster_;
};

}  // namespace emplace
