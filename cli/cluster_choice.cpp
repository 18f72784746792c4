#include "cli/cluster_choice.h"

#include <utility>

#include "core/base/cat.h"
#include "core/pipeline_stage.h"

namespace emplace {
namespace {

const std::vector<std::string> kOfEnvironment = {"env"};

/// --jobs or --coordinator beside addresses. Those of the environment or of a configuration file are for other
/// commands, if these addresses were typed.
bool has_ranks_beside_addresses(const ClusterChoiceFlags& flags, const PipelineOptions& options) {
  if (!options.typed.contains("cluster")) return !flags.jobs.empty() || !flags.coordinator.empty();
  return options.typed.contains("jobs") || options.typed.contains("coordinator");
}

/// The tasks of a launcher's ranks. Their addresses are not known yet, but for the first rank's.
Result<ClusterChoice> of_ranks(const ClusterChoiceFlags& flags) {
  if (flags.jobs.empty())
    return invalid_argument(
        "--cluster env: neither TF_CONFIG nor --jobs says which tasks there are; write --jobs ps=1,worker=3");
  ASSIGN_OR_RETURN(const JobCounts jobs, parse_job_counts(flags.jobs, "--jobs"));
  ASSIGN_OR_RETURN(const std::optional<EnvironmentTask> rank, task_of_environment(environment_variable, jobs));
  if (!rank) {
    return invalid_argument(
        "--cluster env: none of TF_CONFIG, OMPI_COMM_WORLD_RANK, SLURM_PROCID and JOB_COMPLETION_INDEX is set; mpirun, "
        "srun and Kubernetes set them");
  }
  if (flags.coordinator.empty())
    return invalid_argument("--cluster env: --coordinator HOST:PORT has to say where the first rank can be found");
  RETURN_IF_ERROR(parse_host_port(flags.coordinator).status().with_context("--coordinator"));
  ClusterChoice made;
  for (const auto& [job, count] : jobs) {
    for (int i = 0; i < count; ++i) made.cluster.jobs[job][i] = "";
  }
  made.coordinator = ClusterTask{jobs.front().first, 0};
  made.cluster.jobs[made.coordinator->job][0] = flags.coordinator;
  made.self = rank->task;
  made.said = rank->text();
  return made;
}

Result<ClusterChoice> of_tf_config(const char* text) {
  ASSIGN_OR_RETURN(TfConfig config, parse_tf_config(text));
  ClusterChoice made;
  made.cluster = std::move(config.cluster);
  if (made.cluster.empty()) {
    made.cluster.jobs["localhost"][0] = "localhost:0";
    made.self = ClusterTask{"localhost", 0};
  } else if (config.type || config.index) {
    const auto type = config.type ? std::optional<std::string_view>(*config.type) : std::nullopt;
    ASSIGN_OR_RETURN(made.self, choose_task(made.cluster, type, config.index));
  }
  const size_t size = made.cluster.num_tasks();
  made.said = cat("cluster: ", size, size == 1 ? " task" : " tasks", " from TF_CONFIG");
  if (made.self) append(made.said, "; this is ", made.self->name());
  return made;
}

}  // namespace

void declare_cluster_choice(OptionSet& set, ClusterChoiceFlags& flags) {
  set.list(
      "cluster", "JOB=HOST:PORT,...",
      "The tasks of each job (repeat); @FILE: a ClusterDef, or a graph file's `cluster`; env: TF_CONFIG, or a rank of "
      "mpirun, srun or Kubernetes",
      flags.cluster, {"env", "@FILE"});
  set.text("job-name", "JOB", "The job of this task", flags.job);
  set.value("task-index", "N", "Its number in the job", set_integer(flags.index, 0));
  set.text("jobs", "JOB=N,...", "Of --cluster env: the jobs, in the order in which ranks fill them", flags.jobs);
  set.text("coordinator", "HOST:PORT", "Of --cluster env: where the first rank is found", flags.coordinator);
}

Result<ClusterChoice> choose_cluster(const ClusterChoiceFlags& flags, const PipelineOptions& options, bool wants_self) {
  const auto& given = options.given;
  const bool from_environment = flags.cluster.empty() || flags.cluster == kOfEnvironment;
  const char* text = from_environment ? environment_variable("TF_CONFIG") : nullptr;
  if (flags.cluster.empty() && flags.jobs.empty() && !text)
    return invalid_argument("wanted --cluster JOB=HOST:PORT,..., @FILE or env, or TF_CONFIG to be set");
  if (!from_environment && has_ranks_beside_addresses(flags, options))
    return invalid_argument("--jobs and --coordinator are of --cluster env; --cluster has the addresses");
  ClusterChoice made;
  if (text) {
    ASSIGN_OR_RETURN(made, of_tf_config(text));
  } else if (from_environment) {
    ASSIGN_OR_RETURN(made, of_ranks(flags));
  } else {
    ASSIGN_OR_RETURN(made.cluster, parse_cluster(flags.cluster));
  }
  const bool named = given.contains("job-name") || given.contains("task-index");
  if (!named && (made.self || !wants_self)) return made;
  std::optional<std::string_view> job;
  std::optional<int> index;
  if (given.contains("job-name")) job = flags.job;
  if (given.contains("task-index")) index = static_cast<int>(flags.index);
  if (!job && made.self) job = made.self->job;
  if (!index && made.self && *job == made.self->job) index = made.self->index;
  ASSIGN_OR_RETURN(made.self, choose_task(made.cluster, job, index));
  return made;
}

bool is_task_itself(bool mpi, const ClusterChoiceFlags& flags, const PipelineOptions& options) {
  if (mpi || options.typed.contains("jobs")) return true;
  return !flags.cluster.empty() && (options.given.contains("job-name") || options.given.contains("task-index") ||
                                    (options.given.contains("jobs") && flags.cluster == kOfEnvironment));
}

ClusterTask master_of(const ClusterSpec& cluster) {
  for (const char* job : {"chief", "worker"}) {
    if (const auto found = cluster.jobs.find(job); found != cluster.jobs.end())
      return {job, found->second.begin()->first};
  }
  const auto& [job, tasks] = *cluster.jobs.begin();
  return {job, tasks.begin()->first};
}

}  // namespace emplace
