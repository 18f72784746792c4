#include "cli/spawned_tasks.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "cli/cluster_access.h"
#include "core/base/cat.h"
#include "core/base/descriptor.h"
#include "core/cluster/cluster_spec.h"

extern char** environ;

namespace emplace {
namespace {

/// Free ports of loopback: all are held until the last is found, so that none is found twice.
Result<std::vector<int>> free_ports(size_t count) {
  std::vector<int> sockets, ports;
  while (ports.size() < count) {
    const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockets.push_back(made);
    sockaddr_in address = {};
    socklen_t size = sizeof address;
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    if (made < 0 || bind(made, any, size) != 0 || getsockname(made, any, &size) != 0) break;
    ports.push_back(ntohs(address.sin_port));
  }
  for (const int s : sockets) close(s);
  if (ports.size() < count) return unavailable(cat("--spawn: no free port: ", std::strerror(errno)));
  return ports;
}

/// Each line with its task's name, until the child has closed its end.
void pass_on(int from, const std::string& label) {
  std::FILE* in = fdopen(from, "r");
  char* line = nullptr;
  size_t size = 0;
  for (ssize_t length; (length = getline(&line, &size, in)) > 0;)
    static_cast<void>(write_console(STDERR_FILENO, cat(label, std::string_view(line, static_cast<size_t>(length)))));
  free(line);
  std::fclose(in);
}

}  // namespace

Result<std::unique_ptr<SpawnedTasks>> SpawnedTasks::start(const std::string& text, const ClusterAccess& access) {
  Result<JobCounts> jobs = parse_job_counts(text, "--spawn");
  if (!jobs.ok()) return jobs.status().blamed(Blame::kUsage);
  size_t count = 0;
  for (const auto& [job, tasks] : *jobs) count += static_cast<size_t>(tasks);
  if (count > 256) return invalid_argument(cat("--spawn: ", count, " tasks; at most 256")).blamed(Blame::kUsage);
  ASSIGN_OR_RETURN(const std::vector<int> ports, free_ports(count));
  std::unique_ptr<SpawnedTasks> made(new SpawnedTasks);
  std::vector<std::string> cluster;
  std::string chief, worker;
  size_t next = 0;
  for (const auto& [job, tasks] : *jobs) {
    std::string& addresses = cluster.emplace_back(job + "=");
    for (int i = 0; i < tasks; ++i)
      append(addresses, i == 0 ? "" : ",", "localhost:", ports[next + static_cast<size_t>(i)]);
    const std::string first = cat("grpc://localhost:", ports[next]);
    if (made->master_.empty()) made->master_ = first;
    if (job == "chief") chief = first;
    if (job == "worker") worker = first;
    next += static_cast<size_t>(tasks);
  }
  if (!worker.empty()) made->master_ = worker;
  if (!chief.empty()) made->master_ = chief;
  for (const auto& [job, tasks] : *jobs) {
    for (int i = 0; i < tasks; ++i) {
      std::vector<std::string> arguments{"emplace", "serve", "--until-eof", "--job-name", job, "--task-index", cat(i)};
      for (const std::string& one : cluster) arguments.insert(arguments.end(), {"--cluster", one});
      if (!access.token_file.empty()) arguments.insert(arguments.end(), {"--token-file", access.token_file});
      arguments.insert(arguments.end(),
                       {"--heartbeat", cat(access.heartbeat_s), "--dead-after", cat(access.dead_after_s)});
      RETURN_IF_ERROR(made->spawn(arguments, cat("[", job, "/", i, "] ")));
    }
  }
  return made;
}

Status SpawnedTasks::spawn(const std::vector<std::string>& arguments, const std::string& label) {
  int input[2], output[2];
  if (pipe2(input, O_CLOEXEC) != 0) return unavailable(cat("--spawn: ", std::strerror(errno)));
  if (pipe2(output, O_CLOEXEC) != 0) {
    close(input[0]), close(input[1]);
    return unavailable(cat("--spawn: ", std::strerror(errno)));
  }
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output[1], STDERR_FILENO);
  pid_t process = -1;
  const int error = posix_spawn(&process, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(input[0]), close(output[1]);
  if (error != 0) {
    close(input[1]), close(output[0]);
    return unavailable(cat("--spawn: ", std::strerror(error)));
  }
  Child& child = children_.emplace_back();
  child.process = process, child.input = input[1];
  child.reader = std::thread([from = output[0], label] { pass_on(from, label); });
  return ok_status();
}

SpawnedTasks::~SpawnedTasks() {
  for (const Child& child : children_) close(child.input);
  for (Child& child : children_) {
    waitpid(child.process, nullptr, 0);
    child.reader.join();
  }
}

}  // namespace emplace
