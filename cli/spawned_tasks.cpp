#include "cli/spawned_tasks.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "cli/server_flags.h"
#include "core/base/cat.h"
#include "core/base/exit_code.h"
#include "core/base/log.h"
#include "core/cluster/cluster_spec.h"
#include "core/device/device_options.h"

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

/// The devices that each of the tasks is to have.
void add_device_flags(const DeviceOptions& devices, std::vector<std::string>& arguments) {
  const auto add = [&](const char* flag, const std::string& value) {
    arguments.insert(arguments.end(), {flag, value});
  };
  if (devices.simulate_gpus > 0) {
    const int64_t memory = devices.simulated_memory;
    add("--simulate-gpus", memory > 0 ? cat(devices.simulate_gpus, ":", memory, "B") : cat(devices.simulate_gpus));
  }
  for (const auto& [type, count] : devices.device_count) add("--device-count", cat(type, "=", count));
  if (!devices.visible_device_list.empty()) add("--visible-devices", devices.visible_device_list);
  if (!devices.logical_gpus.empty()) add("--logical-gpus", devices.logical_gpus);
  if (devices.memory_fraction > 0) add("--memory-fraction", cat(devices.memory_fraction));
  if (devices.memory_limit > 0) add("--memory-limit", cat(devices.memory_limit, "B"));
}

/// The least that a log shows, as --log-level has it.
std::string least_shown(const Log& log) {
  constexpr std::pair<LogLevel, const char*> kLevels[] = {{LogLevel::kDebug, "debug"},
                                                          {LogLevel::kInfo, "info"},
                                                          {LogLevel::kWarning, "warning"},
                                                          {LogLevel::kError, "error"}};
  for (const auto& [level, name] : kLevels) {
    if (log.shows(level)) return name;
  }
  return "off";
}

/// Each line with its task's name, until the child has closed its end.
void pass_on(int from, const std::string& label, Log& log) {
  std::FILE* in = fdopen(from, "r");
  char* line = nullptr;
  size_t size = 0;
  for (ssize_t length; (length = getline(&line, &size, in)) > 0;)
    log.relay(cat(label, std::string_view(line, static_cast<size_t>(length))));
  free(line);
  std::fclose(in);
}

}  // namespace

Status SpawnedTasks::lay_out(const std::string& text) {
  Result<JobCounts> jobs = parse_job_counts(text, "--spawn");
  if (!jobs.ok()) return jobs.status().blamed(Blame::kUsage);
  size_t count = 0;
  for (const auto& [job, tasks] : *jobs) count += static_cast<size_t>(tasks);
  if (count > 256) return invalid_argument(cat("--spawn: ", count, " tasks; at most 256")).blamed(Blame::kUsage);
  ASSIGN_OR_RETURN(const std::vector<int> ports, free_ports(count));
  std::string masters_job = jobs->front().first;
  for (const char* preferred : {"worker", "chief"}) {
    for (const auto& [job, tasks] : *jobs) masters_job = job == preferred ? job : masters_job;
  }
  for (const auto& [job, tasks] : *jobs) {
    std::string& addresses = cluster_.emplace_back(job + "=");
    for (int i = 0; i < tasks; ++i) {
      const int port = ports[tasks_.size()];
      append(addresses, i == 0 ? "" : ",", "localhost:", port);
      if (job == masters_job && i == 0) master_ = cat("grpc://localhost:", port), master_task_ = {job, i};
      tasks_.push_back({job, i});
    }
  }
  return ok_status();
}

Result<std::unique_ptr<SpawnedTasks>> SpawnedTasks::start(const std::string& text, const ServerFlags& flags,
                                                          const DeviceOptions& devices, Log& log) {
  std::unique_ptr<SpawnedTasks> made(new SpawnedTasks);
  RETURN_IF_ERROR(made->lay_out(text));
  const ClusterAccess& access = flags.access;
  for (const ClusterTask& task : made->tasks_) {
    std::vector<std::string> arguments{"emplace", "serve"};
    for (const std::string& folder : flags.data_roots) arguments.insert(arguments.end(), {"--data-root", folder});
    if (!access.token_file.empty()) arguments.insert(arguments.end(), {"--token-file", access.token_file});
    arguments.insert(arguments.end(),
                     {"--heartbeat", cat(access.heartbeat_s), "--dead-after", cat(access.dead_after_s)});
    if (!access.tls_ca.empty()) {
      arguments.insert(arguments.end(),
                       {"--tls-cert", access.tls_cert, "--tls-key", access.tls_key, "--tls-ca", access.tls_ca});
    }
    add_device_flags(devices, arguments);
    arguments.insert(arguments.end(), {"--log-level", least_shown(log)});
    RETURN_IF_ERROR(made->spawn_task(task, arguments));
  }
  made->start_readers(log);
  return made;
}

Result<std::unique_ptr<SpawnedTasks>> SpawnedTasks::start_beside_master(const std::string& text,
                                                                        const std::vector<std::string>& command,
                                                                        Log& log) {
  std::unique_ptr<SpawnedTasks> made(new SpawnedTasks);
  RETURN_IF_ERROR(made->lay_out(text));
  for (const ClusterTask& task : made->tasks_) {
    if (!(task == made->master_task_)) RETURN_IF_ERROR(made->spawn_task(task, command));
  }
  made->start_readers(log);
  return made;
}

Status SpawnedTasks::spawn_task(const ClusterTask& task, std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--until-eof", "--job-name", task.job, "--task-index", cat(task.index)});
  for (const std::string& one : cluster_) arguments.insert(arguments.end(), {"--cluster", one});
  return spawn(arguments, cat(task.job, "/", task.index));
}

Status SpawnedTasks::spawn(const std::vector<std::string>& arguments, const std::string& name) {
  int input[2], output[2];
  if (pipe2(input, O_CLOEXEC) != 0) return unavailable(cat("--spawn: ", std::strerror(errno)));
  if (pipe2(output, O_CLOEXEC) != 0) {
    close(input[0]), close(input[1]);
    return unavailable(cat("--spawn: ", std::strerror(errno)));
  }
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
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
  child.name = name, child.process = process, child.input = input[1], child.output = output[0];
  return ok_status();
}

void SpawnedTasks::start_readers(Log& log) {
  for (Child& child : children_) {
    child.reader =
        std::thread([&log, from = child.output, name = child.name] { pass_on(from, cat("[", name, "] "), log); });
  }
}

Status SpawnedTasks::alive() {
  for (Child& child : children_) {
    int how = 0;
    if (child.process <= 0 || waitpid(child.process, &how, WNOHANG) == 0) continue;
    child.process = -1;
    const int code = WIFEXITED(how) ? WEXITSTATUS(how) : 0;
    const Status ended = unavailable(cat("--spawn: the task ", child.name, " has ended, exit code ", code));
    for (const Blame blame : {Blame::kUsage, Blame::kFile, Blame::kDevice}) {
      if (exit_code(ended.blamed(blame)) == code) return ended.blamed(blame);
    }
    return ended.blamed(kBlamePeer);
  }
  return ok_status();
}

void SpawnedTasks::wait(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (Child& child : children_) {
    while (child.process > 0 && std::chrono::steady_clock::now() < end) {
      if (waitpid(child.process, nullptr, WNOHANG) != 0) child.process = -1;
      if (child.process > 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
}

SpawnedTasks::~SpawnedTasks() {
  for (const Child& child : children_) close(child.input);
  for (Child& child : children_) {
    if (child.process > 0) waitpid(child.process, nullptr, 0);
    child.reader.joinable() ? child.reader.join() : static_cast<void>(close(child.output));
  }
}

}  // namespace emplace
