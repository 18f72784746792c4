/// ClusterSpec: the jobs of a cluster and the addresses of their tasks, as tf.train.ClusterSpec; which of the tasks a
/// process is; and what environments say of both. Errors are InvalidArgument, in TensorFlow's words where it has them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"

namespace emplace {

/// Jobs are in the order of their names, as in TensorFlow's ClusterDef. Tasks may be sparse.
struct ClusterSpec {
  std::map<std::string, std::map<int, std::string>> jobs;  // "host:port" by job and task

  bool empty() const { return jobs.empty(); }
  size_t num_tasks() const;
};

/// One task of a cluster.
struct ClusterTask {
  std::string job;
  int index = 0;
  bool operator==(const ClusterTask&) const = default;
  /// "/job:worker/replica:0/task:1".
  std::string name() const;
};

struct HostPort {
  std::string host;  // without the brackets of IPv6
  int port = 0;      // 0: whichever is free
};
/// "node1:2222", "[::1]:2222".
Result<HostPort> parse_host_port(std::string_view text);

/// The values of --cluster, in their order: "worker=a:2222,b:2222", or "@FILE" with a ClusterDef or {"job": [...]}. A
/// job that is written twice, a name that is none, an address twice or without a port: an error.
Result<ClusterSpec> parse_cluster(std::span<const std::string> given);
/// A ClusterDef in JSON. Messages have positions in `origin`.
Result<ClusterSpec> parse_cluster_json(const std::string& text, const std::string& origin);
/// The names and addresses of a cluster that was read elsewhere (the graph file's).
Status check_cluster(const ClusterSpec& cluster);

/// The task that --job-name and --task-index name; what is left out must be the only one there.
Result<ClusterTask> choose_task(const ClusterSpec& cluster, std::optional<std::string_view> job,
                                std::optional<int> index);
/// Of a task of the cluster; in the words of TensorFlow's server if there is no such job or task.
Result<std::string> address_of(const ClusterSpec& cluster, const ClusterTask& task);

/// What TF_CONFIG holds (TFConfigClusterResolver).
struct TfConfig {
  ClusterSpec cluster;  // empty: a single process
  std::optional<std::string> type;
  std::optional<int> index;
};
/// `text`: the variable's value.
Result<TfConfig> parse_tf_config(const std::string& text);

/// "ps=1,worker=3": jobs with their numbers of tasks, in the order typed, in which ranks fill them.
using JobCounts = std::vector<std::pair<std::string, int>>;
/// `flag` stands in messages.
Result<JobCounts> parse_job_counts(std::string_view text, std::string_view flag);

/// --cluster env: who this process is among those that something else has started.
struct EnvironmentTask {
  std::string variable;  // "SLURM_PROCID"
  int rank = 0;
  int size = 0;
  ClusterTask task;
  /// "cluster: 4 tasks from SLURM_PROCID; rank 2 = /job:worker/replica:0/task:1".
  std::string text() const;
};
/// This process's number among them; nothing if no variable says it.
std::optional<int> rank_of_environment(const char* (*environment)(const char*));
/// From OMPI_COMM_WORLD_RANK, SLURM_PROCID or JOB_COMPLETION_INDEX, the first that is set; nothing if none is. `jobs`
/// must have as many tasks as were started, where the environment says how many.
Result<std::optional<EnvironmentTask>> task_of_environment(const char* (*environment)(const char*),
                                                           const JobCounts& jobs);

}  // namespace emplace
