/// Tasks of a cluster as children of this process, each an `emplace serve`.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/status.h"

namespace emplace {

struct ClusterAccess;

class SpawnedTasks {
 public:
  /// `jobs`: "ps=1,worker=2". They listen on free ports of loopback; what they print comes here, each line with its
  /// task's name. They end with this object, or with this process however that ends.
  static Result<std::unique_ptr<SpawnedTasks>> start(const std::string& jobs, const ClusterAccess& access);
  ~SpawnedTasks();
  SpawnedTasks(const SpawnedTasks&) = delete;
  SpawnedTasks& operator=(const SpawnedTasks&) = delete;

  /// "grpc://localhost:41233": the first chief, else worker, else the first job's first task.
  const std::string& master() const { return master_; }

 private:
  struct Child {
    pid_t process = -1;
    int input = -1;      // open as long as it shall live
    std::thread reader;  // of what it prints
  };
  SpawnedTasks() = default;
  Status spawn(const std::vector<std::string>& arguments, const std::string& label);

  std::vector<Child> children_;
  std::string master_;
};

}  // namespace emplace
