// Part of core/cluster/cluster_spec.h: what environments say: TF_CONFIG, and the ranks of MPI, Slurm and Kubernetes.
#include <charconv>

#include "core/base/cat.h"
#include "core/cluster/cluster_spec.h"
#include "core/formats/cluster_reader.h"
#include "core/formats/object_reader.h"
#include "core/formats/value_reader.h"

namespace emplace {
namespace {

using Kind = JsonReader::Kind;

// {"type": "worker", "index": 1}; the index may be text.
void read_own_task(JsonReader& reader, TfConfig& config) {
  if (!expect(reader, Kind::kObject, "task")) return;
  reader.enter_object();
  for (std::string_view key; reader.next_key(key);) {
    if (key == "type") {
      if (const auto type = read_text(reader, "type")) config.type = std::string(*type);
    } else if (key == "index") {
      if (const auto index = read_integer(reader, "index", INT32_MIN, INT32_MAX))
        config.index = static_cast<int>(*index);
    } else {
      reader.skip();
    }
  }
}

struct RankVariables {
  const char *rank, *size;  // size null: nobody says
};
constexpr RankVariables kRankVariables[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                            {"SLURM_PROCID", "SLURM_NTASKS"},
                                            {"JOB_COMPLETION_INDEX", nullptr}};

Result<int> number_in(const char* variable, std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0)
    return invalid_argument(cat(variable, "='", text, "' is not a number from 0 on"));
  return number;
}

std::string jobs_text(const JobCounts& jobs) {
  std::string text;
  for (const auto& [name, count] : jobs) append(text, text.empty() ? "" : ",", name, '=', count);
  return text;
}

}  // namespace

Result<TfConfig> parse_tf_config(const std::string& text) {
  const auto source = Source::from_text("TF_CONFIG", text);
  Problems problems;
  TextArena arena;
  JsonReader reader(source->text(), problems, arena);
  TfConfig config;
  if (expect(reader, Kind::kObject, "TF_CONFIG")) {
    reader.enter_object();
    for (std::string_view key; reader.next_key(key);) {
      if (key == "cluster") {
        read_cluster(reader, config.cluster.jobs);
      } else if (key == "task") {
        read_own_task(reader, config);
      } else {
        reader.skip();
      }
    }
  }
  reader.finish();
  if (!problems.empty()) return invalid_argument(problems.to_string(*source));
  RETURN_IF_ERROR(check_cluster(config.cluster).with_context("TF_CONFIG"));
  return config;
}

std::string EnvironmentTask::text() const {
  return cat("cluster: ", size, size == 1 ? " task" : " tasks", " from ", variable, "; rank ", rank, " = ",
             task.name());
}

std::optional<int> rank_of_environment(const char* (*environment)(const char*)) {
  for (const RankVariables& names : kRankVariables) {
    const char* text = environment(names.rank);
    if (!text) continue;
    Result<int> rank = number_in(names.rank, text);
    return rank.ok() ? std::optional(*rank) : std::nullopt;
  }
  return std::nullopt;
}

Result<std::optional<EnvironmentTask>> task_of_environment(const char* (*environment)(const char*),
                                                           const JobCounts& jobs) {
  for (const RankVariables& names : kRankVariables) {
    const char* rank = environment(names.rank);
    if (!rank) continue;
    EnvironmentTask found;
    found.variable = names.rank;
    ASSIGN_OR_RETURN(found.rank, number_in(names.rank, rank));
    for (const auto& [job, count] : jobs) found.size += count;
    if (const char* size = names.size ? environment(names.size) : nullptr) {
      ASSIGN_OR_RETURN(const int started, number_in(names.size, size));
      if (started != found.size)
        return invalid_argument(
            cat("--jobs ", jobs_text(jobs), " are ", found.size, " tasks, ", names.size, " is ", started));
    }
    int first = 0;
    for (const auto& [job, count] : jobs) {
      if (found.rank < first + count) {
        found.task = {job, found.rank - first};
        return std::optional(found);
      }
      first += count;
    }
    return invalid_argument(cat("--jobs ", jobs_text(jobs), " are ", found.size, " tasks, but ", names.rank, " is ",
                                found.rank, "; ranks count from 0"));
  }
  return std::optional<EnvironmentTask>();
}

}  // namespace emplace
