/// Which cluster the flags, TF_CONFIG or a launcher (mpirun, srun, Kubernetes) mean, and which of its tasks this
/// process is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/option_set.h"
#include "core/cluster/cluster_spec.h"
#include "core/pipeline_options.h"

namespace emplace {

struct ClusterChoiceFlags {
  std::vector<std::string> cluster;
  std::string job, jobs, coordinator;
  int64_t index = 0;
};
/// --cluster, --job-name, --task-index, --jobs, --coordinator.
void declare_cluster_choice(OptionSet& set, ClusterChoiceFlags& flags);

struct ClusterChoice {
  ClusterSpec cluster;                     // of ranks: addresses are empty but for the coordinator's
  std::optional<ClusterTask> self;         // nothing: this process is none of its tasks
  std::optional<ClusterTask> coordinator;  // whom the others tell their addresses; nothing: all are known
  std::string said;                        // a line about it; empty: nothing that the user did not type
};
/// Errors are of usage. `wants_self`: without a name the task is the only one there.
Result<ClusterChoice> choose_cluster(const ClusterChoiceFlags& flags, const PipelineOptions& options, bool wants_self);

/// Is this process one of the tasks, which all run this command? --job-name and --task-index of the environment or of
/// a configuration file only say so beside --cluster, and such --jobs beside --cluster env.
bool is_task_itself(bool mpi, const ClusterChoiceFlags& flags, const PipelineOptions& options);

/// The task that a session talks to where nobody says which: the first chief, else worker, else the first of all.
ClusterTask master_of(const ClusterSpec& cluster);

}  // namespace emplace
