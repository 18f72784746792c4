#include "core/cluster/cluster_spec.h"

#include <charconv>

#include "core/base/cat.h"
#include "core/device/device_name.h"
#include "core/formats/cluster_reader.h"

namespace emplace {
namespace {

constexpr int kMaxPort = 65535;

bool is_job_name(std::string_view name) {
  const auto parsed = DeviceName::parse(cat("/job:", name));
  return parsed && parsed->job == name;
}

std::optional<int> whole_number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// A graph file, whose `cluster` is meant: a job has no list of objects, and a ClusterDef no nodes.
bool is_graph(JsonReader& reader) {
  Problems scratch;
  JsonReader look = reader.lookahead(scratch);
  if (look.peek() != JsonReader::Kind::kObject) return false;
  look.enter_object();
  for (std::string_view key; look.next_key(key);) {
    if (key == "node" && look.peek() == JsonReader::Kind::kArray) {
      look.enter_array();
      return !look.next_element() || look.peek() == JsonReader::Kind::kObject;
    }
    look.skip();
  }
  return false;
}

Result<ClusterSpec> read_json(const Source& source) {
  Problems problems;
  TextArena arena;
  JsonReader reader(source.text(), problems, arena);
  ClusterSpec cluster;
  if (is_graph(reader)) {
    reader.enter_object();
    for (std::string_view key; reader.next_key(key);) {
      if (key == "cluster") {
        read_cluster(reader, cluster.jobs);
      } else {
        reader.skip();
      }
    }
  } else {
    read_cluster(reader, cluster.jobs);
  }
  reader.finish();
  if (!problems.empty()) return invalid_argument(problems.to_string(source));
  return cluster;
}

// "worker=a:2222,b:2222"; several jobs may stand in one text, each with its name.
Status add_jobs(std::string_view text, ClusterSpec& cluster) {
  std::map<int, std::string>* job = nullptr;
  for (std::string_view rest = text;;) {
    std::string_view entry = rest.substr(0, rest.find(','));
    const size_t length = entry.size();
    if (const size_t equals = entry.find('='); equals != entry.npos) {
      const std::string name(entry.substr(0, equals));
      entry.remove_prefix(equals + 1);
      const auto [it, is_new] = cluster.jobs.try_emplace(name);
      if (!is_new) return invalid_argument(cat("--cluster: job '", name, "' is written twice"));
      job = &it->second;
    }
    if (!job || entry.empty())
      return invalid_argument(cat("--cluster: '", text, "' is not a cluster; write job=host:port,host:port or @FILE"));
    job->emplace(static_cast<int>(job->size()), entry);
    if (length == rest.size()) return ok_status();
    rest.remove_prefix(length + 1);
  }
}

}  // namespace

size_t ClusterSpec::num_tasks() const {
  size_t count = 0;
  for (const auto& [job, tasks] : jobs) count += tasks.size();
  return count;
}

std::string ClusterTask::name() const { return cat("/job:", job, "/replica:0/task:", index); }

Result<HostPort> parse_host_port(std::string_view text) {
  const size_t colon = text.rfind(':');
  const std::optional<int> port = colon == text.npos ? std::nullopt : whole_number(text.substr(colon + 1));
  if (!port || *port < 0) return invalid_argument(cat("Could not parse port for local server from \"", text, "\"."));
  if (*port > kMaxPort) return invalid_argument(cat("port ", *port, " of \"", text, "\" is over ", kMaxPort));
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty() || host.find('/') != host.npos)
    return invalid_argument(cat("Could not interpret \"", text, "\" as a host-port pair."));
  return HostPort{std::string(host), *port};
}

Result<ClusterSpec> parse_cluster(std::span<const std::string> given) {
  ClusterSpec cluster;
  for (const std::string& text : given) {
    if (!text.starts_with('@')) {
      RETURN_IF_ERROR(add_jobs(text, cluster));
      continue;
    }
    auto source = Source::open(text.substr(1));
    if (!source.ok()) return source.status().with_context("--cluster");
    ASSIGN_OR_RETURN(ClusterSpec read, read_json(**source));
    for (auto& [job, tasks] : read.jobs) {
      if (!cluster.jobs.emplace(job, std::move(tasks)).second)
        return invalid_argument(cat("--cluster: job '", job, "' is written twice"));
    }
  }
  RETURN_IF_ERROR(check_cluster(cluster).with_context("--cluster"));
  return cluster;
}

Result<ClusterSpec> parse_cluster_json(const std::string& text, const std::string& origin) {
  ASSIGN_OR_RETURN(ClusterSpec cluster, read_json(*Source::from_text(origin, text)));
  RETURN_IF_ERROR(check_cluster(cluster).with_context(origin));
  return cluster;
}

Status check_cluster(const ClusterSpec& cluster) {
  std::map<std::string, std::string> owners;  // task by address
  for (const auto& [job, tasks] : cluster.jobs) {
    if (!is_job_name(job))
      return invalid_argument(cat("'", job, "' is not the name of a job: letters, digits and '_', a letter first"));
    if (tasks.empty()) return invalid_argument(cat("job '", job, "' has no task"));
    for (const auto& [index, address] : tasks) {
      ASSIGN_OR_RETURN(const HostPort parsed, parse_host_port(address));
      const std::string name = ClusterTask{job, index}.name();
      const auto [it, is_new] = owners.emplace(address, name);
      if (!is_new && parsed.port != 0)
        return invalid_argument(cat(address, " is the address of ", it->second, " and of ", name));
    }
  }
  return ok_status();
}

Result<ClusterTask> choose_task(const ClusterSpec& cluster, std::optional<std::string_view> job,
                                std::optional<int> index) {
  if (!job && cluster.jobs.size() != 1) return invalid_argument("Must specify an explicit `job_name`.");
  const std::string name(job ? *job : cluster.jobs.begin()->first);
  const auto tasks = cluster.jobs.find(name);
  if (tasks == cluster.jobs.end()) return invalid_argument(cat("Job \"", name, "\" was not defined in cluster"));
  if (!index && tasks->second.size() != 1) return invalid_argument("Must specify an explicit `task_index`.");
  const ClusterTask task{name, index ? *index : tasks->second.begin()->first};
  RETURN_IF_ERROR(address_of(cluster, task).status());
  return task;
}

Result<std::string> address_of(const ClusterSpec& cluster, const ClusterTask& task) {
  const auto tasks = cluster.jobs.find(task.job);
  if (tasks == cluster.jobs.end()) return invalid_argument(cat("Job \"", task.job, "\" was not defined in cluster"));
  const auto address = tasks->second.find(task.index);
  if (address == tasks->second.end())
    return invalid_argument(cat("Task ", task.index, " was not defined in job \"", task.job, "\""));
  return address->second;
}

Result<JobCounts> parse_job_counts(std::string_view text, std::string_view flag) {
  JobCounts jobs;
  const auto wrong = [&] { return invalid_argument(cat(flag, " '", text, "': write job=N,job=N: ps=1,worker=3")); };
  for (std::string_view rest = text;;) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    const size_t equals = entry.find('=');
    if (equals == entry.npos) return wrong();
    const std::string name(entry.substr(0, equals));
    const std::optional<int> count = whole_number(entry.substr(equals + 1));
    if (!is_job_name(name) || !count || *count < 1) return wrong();
    for (const auto& [other, n] : jobs) {
      if (other == name) return invalid_argument(cat(flag, ": job '", name, "' is written twice"));
    }
    jobs.emplace_back(name, *count);
    if (entry.size() == rest.size()) return jobs;
    rest.remove_prefix(entry.size() + 1);
  }
}

}  // namespace emplace
