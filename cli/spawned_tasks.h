/// Tasks of a cluster as children of this process, each an `emplace serve`.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/status.h"
#include "core/cluster/cluster_spec.h"

namespace emplace {

class Log;
struct ServerFlags;
struct DeviceOptions;

class SpawnedTasks {
 public:
  /// `jobs`: "ps=1,worker=2". They listen on free ports of loopback; what they print goes to `log`, which must outlive
  /// this object, each line with its task's name, and is of the levels that `log` shows. Each has these devices. They
  /// end with this object, or with this process however that ends.
  static Result<std::unique_ptr<SpawnedTasks>> start(const std::string& jobs, const ServerFlags& flags,
                                                     const DeviceOptions& devices, Log& log);
  /// The same of tasks that each run `command` ("emplace", "train", "g.json", ...), with flags behind it that say which
  /// task it is; but for the master, which this process is to be itself.
  static Result<std::unique_ptr<SpawnedTasks>> start_beside_master(const std::string& jobs,
                                                                   const std::vector<std::string>& command, Log& log);
  ~SpawnedTasks();
  SpawnedTasks(const SpawnedTasks&) = delete;
  SpawnedTasks& operator=(const SpawnedTasks&) = delete;

  /// "grpc://localhost:41233": the first chief, else worker, else the first job's first task.
  const std::string& master() const { return master_; }
  const ClusterTask& master_task() const { return master_task_; }
  /// The values of --cluster for it.
  const std::vector<std::string>& cluster() const { return cluster_; }
  /// Not OK: one of the tasks has ended by itself, with an exit code that is this status' own.
  Status alive();
  /// Waits for the tasks to end by themselves, so long.
  void wait(double seconds);

 private:
  struct Child {
    std::string name;    // "worker/1"
    pid_t process = -1;  // -1: has ended
    int input = -1;      // open as long as it shall live
    int output = -1;     // what it prints, for the reader
    std::thread reader;  // of what it prints
  };
  SpawnedTasks() = default;
  Status lay_out(const std::string& jobs);
  Status spawn_task(const ClusterTask& task, std::vector<std::string> arguments);
  Status spawn(const std::vector<std::string>& arguments, const std::string& name);
  /// When all children are there: a process with threads makes none.
  void start_readers(Log& log);

  std::vector<Child> children_;
  std::vector<ClusterTask> tasks_;
  std::vector<std::string> cluster_;
  std::string master_;
  ClusterTask master_task_;
};

}  // namespace emplace
