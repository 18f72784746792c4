/// What the tasks of a training on several of them do, for the chief's terminal: how busy each is, or how many steps
/// each has done.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/cluster/cluster.h"
#include "core/train/train_loop.h"

namespace emplace {

class TaskProgress final : public TrainListener {
 public:
  /// The cluster must outlive it.
  explicit TaskProgress(const Cluster& cluster) : cluster_(cluster) {}

  /// The devices of the replicas, by tower.
  void train_on(const std::vector<std::string>& replicas);
  Status step(const StepRecord& record) override;
  /// "busy: worker/0 93 %, worker/1 61 %", of the time of the steps since the last call with the same `for_line`; where
  /// each tower has steps of its own, "steps: worker/0 118, worker/1 97", all until now. Nothing: no step has ended.
  std::string text(bool for_line);

 private:
  const Cluster& cluster_;
  std::vector<std::string> towers_;       // names for messages
  std::map<std::string, int64_t> steps_;  // by tower's name
  struct Busy {
    std::map<std::string, int64_t> busy_ns;  // by task's name
    int64_t time_ns = 0;                     // of steps
    std::string text;                        // the last one
  };
  Busy for_lines_, for_bar_;
};

}  // namespace emplace
