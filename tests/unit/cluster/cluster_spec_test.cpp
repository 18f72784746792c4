#include "core/cluster/cluster_spec.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/unit/source_dir.h"

using namespace emplace;
using nlohmann::json;

namespace {

std::string failure(std::vector<std::string> given) { return parse_cluster(given).status().message(); }

// What task_of_environment() sees.
const json* variables = nullptr;
const char* variable(const char* name) {
  const auto found = variables->find(name);
  return found == variables->end() ? nullptr : found->get_ref<const std::string&>().c_str();
}

json recorded_resolvers() {
  std::ifstream file(source_dir() + "/tests/data/cluster/resolvers.json");
  return json::parse(file);
}

}  // namespace

TEST_CASE("a cluster is written as jobs with addresses, or as a ClusterDef") {
  const std::vector<std::string> typed{"ps=a:1", "worker=b:2,[::1]:3"};
  const Result<ClusterSpec> cluster = parse_cluster(typed);
  REQUIRE(cluster.ok());
  CHECK(cluster->num_tasks() == 3);
  CHECK(cluster->jobs.at("worker").at(1) == "[::1]:3");
  const std::vector<std::string> at_once{"ps=a:1,worker=b:2,[::1]:3"};
  CHECK(parse_cluster(at_once)->jobs == cluster->jobs);
  for (
      const char* text :
      {R"({"job": [{"name": "ps", "tasks": {"0": "a:1"}}, {"name": "worker", "tasks": {"0": "b:2", "1": "[::1]:3"}}]})",
       R"({"ps": ["a:1"], "worker": ["b:2", "[::1]:3"]})"}) {
    CHECK(parse_cluster_json(text, "cluster.json")->jobs == cluster->jobs);
  }
  const Result<ClusterSpec> sparse = parse_cluster_json(R"({"worker": {"1": "h:1", "3": "h:2"}})", "cluster.json");
  CHECK(address_of(*sparse, {"worker", 3}).take() == "h:2");
  CHECK(parse_host_port("[::1]:3")->host == "::1");
}

TEST_CASE("a cluster that cannot be says why") {
  CHECK(failure({"local"}) == "--cluster: 'local' is not a cluster; write job=host:port,host:port or @FILE");
  CHECK(failure({"local=a:1,,b:2"}) ==
        "--cluster: 'local=a:1,,b:2' is not a cluster; write job=host:port,host:port or @FILE");
  CHECK(failure({"local=localhost"}) == "--cluster: Could not parse port for local server from \"localhost\".");
  CHECK(failure({"local=localhost:99999"}) == "--cluster: port 99999 of \"localhost:99999\" is over 65535");
  CHECK(failure({"local=localhost:-1"}) == "--cluster: Could not parse port for local server from \"localhost:-1\".");
  CHECK(failure({"local=a/b:1"}) == "--cluster: Could not interpret \"a/b:1\" as a host-port pair.");
  CHECK(failure({"a=h:1", "b=h:1"}) ==
        "--cluster: h:1 is the address of /job:a/replica:0/task:0 and of /job:b/replica:0/task:0");
  CHECK(failure({"a=h:1", "a=h:2"}) == "--cluster: job 'a' is written twice");
  CHECK(failure({"1a=h:1"}) == "--cluster: '1a' is not the name of a job: letters, digits and '_', a letter first");
  CHECK(failure({"@/nowhere/cluster.json"}) == "--cluster: /nowhere/cluster.json: No such file or directory");
  CHECK(parse_cluster_json("{\"worker\": \"h:1\"}", "c.json")
            .status()
            .message()
            .starts_with("c.json:1:12: tasks: found"));
  CHECK(failure({"a=h:0,h:0"}).empty());  // each takes a port that is free
}

TEST_CASE("a task that a cluster lacks is told in the words of TensorFlow's server") {
  const std::vector<std::string> typed{"local=a:1,b:2"};
  const ClusterSpec local = parse_cluster(typed).take();
  CHECK(choose_task(local, "local", 2).status().message() == "Task 2 was not defined in job \"local\"");
  CHECK(choose_task(local, "local", -1).status().message() == "Task -1 was not defined in job \"local\"");
  CHECK(choose_task(local, "worker", 0).status().message() == "Job \"worker\" was not defined in cluster");
  CHECK(choose_task(local, {}, 1)->name() == "/job:local/replica:0/task:1");
  CHECK(choose_task(local, {}, {}).status().message() == "Must specify an explicit `task_index`.");
  const std::vector<std::string> two{"a=h:1", "b=h:2"};
  const ClusterSpec jobs = parse_cluster(two).take();
  CHECK(choose_task(jobs, {}, 0).status().message() == "Must specify an explicit `job_name`.");
  CHECK(choose_task(jobs, "b", {})->name() == "/job:b/replica:0/task:0");
}

TEST_CASE("TF_CONFIG means what it means to TensorFlow") {
  int seen = 0;
  for (const json& answer : recorded_resolvers()) {
    if (answer["resolver"] != "TFConfigClusterResolver") continue;
    ++seen;
    INFO(answer);
    const Result<TfConfig> config = parse_tf_config(answer["env"]["TF_CONFIG"].get<std::string>());
    REQUIRE(config.ok() == !answer.contains("error"));
    if (!config.ok()) {
      CHECK(config.status().message().starts_with("TF_CONFIG:1:1: "));
      continue;
    }
    const json cluster = answer["cluster"];
    CHECK(config->cluster.jobs.size() == cluster.size());
    for (const auto& [job, tasks] : config->cluster.jobs) {
      for (const auto& [index, address] : tasks) {
        const json& list = cluster[job];
        CHECK(address == (list.is_array() ? list.at(static_cast<size_t>(index)) : list.at(std::to_string(index))));
      }
    }
    CHECK((config->type ? json(*config->type) : json()) == answer["task_type"]);
    CHECK((config->index ? json(*config->index) : json()) == answer["task_id"]);
    if (!config->type || config->cluster.empty()) continue;
    const Result<std::string> master = address_of(config->cluster, {*config->type, config->index.value_or(0)});
    CHECK(master.ok() == answer.contains("master"));
    if (master.ok()) CHECK(answer["master"].get<std::string>().ends_with(*master));
  }
  CHECK(seen == 13);
}

TEST_CASE("ranks fill the jobs in the order typed") {
  const JobCounts jobs = parse_job_counts("ps=1,worker=3", "--jobs").take();
  int seen = 0;
  for (const json& answer : recorded_resolvers()) {
    if (answer["resolver"] != "SlurmClusterResolver" || answer["arguments"]["jobs"].is_null()) continue;
    variables = &answer["env"];
    JobCounts typed;
    for (const auto& [job, count] : answer["arguments"]["jobs"].items()) typed.emplace_back(job, count.get<int>());
    const auto found = task_of_environment(variable, typed);  // a json object is sorted, as TensorFlow sorts the jobs
    REQUIRE(found.ok());
    CHECK((*found)->task == ClusterTask{answer["task_type"], answer["task_id"]});
    ++seen;
  }
  CHECK(seen == 4);
  const auto text = [&](const json& env) {
    variables = &env;
    const auto found = task_of_environment(variable, jobs);
    return !found.ok() ? found.status().message() : *found ? (*found)->text() : "none";
  };
  CHECK(text({}) == "none");
  CHECK(text({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"SLURM_PROCID", "3"}}) ==
        "cluster: 4 tasks from OMPI_COMM_WORLD_RANK; rank 0 = /job:ps/replica:0/task:0");
  CHECK(text({{"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "4"}}) ==
        "cluster: 4 tasks from SLURM_PROCID; rank 2 = /job:worker/replica:0/task:1");
  CHECK(text({{"JOB_COMPLETION_INDEX", "3"}}) ==
        "cluster: 4 tasks from JOB_COMPLETION_INDEX; rank 3 = /job:worker/replica:0/task:2");
  CHECK(text({{"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "3"}}) == "--jobs ps=1,worker=3 are 4 tasks, SLURM_NTASKS is 3");
  CHECK(text({{"JOB_COMPLETION_INDEX", "4"}}) ==
        "--jobs ps=1,worker=3 are 4 tasks, but JOB_COMPLETION_INDEX is 4; ranks count from 0");
  CHECK(text({{"SLURM_PROCID", "x"}, {"SLURM_NTASKS", "4"}}) == "SLURM_PROCID='x' is not a number from 0 on");
  CHECK(parse_job_counts("ps", "--jobs").status().message() == "--jobs 'ps': write job=N,job=N: ps=1,worker=3");
  CHECK(parse_job_counts("a=1,a=2", "--jobs").status().message() == "--jobs: job 'a' is written twice");
}
