/// LocalExchange: a task's end of a LocalNetwork.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "core/cluster/local_network.h"

namespace emplace {

/// The programs that the tasks of a session have cut, in order: each must be everybody's.
class AgreedPrograms {
 public:
  /// `number`: how many the task has cut before. Thread-safe.
  Status check(const std::string& task, size_t number, const std::string& hash);

 private:
  struct Program {
    std::string hash, task;  // of the first that cut it
  };
  std::mutex mutex_;
  std::vector<Program> programs_;  // guarded by mutex_
};

class LocalExchange final : public Exchange {
 public:
  /// All must outlive it.
  LocalExchange(LocalNetwork& network, AgreedPrograms& programs, TaskId self, const std::vector<std::string>& names)
      : network_(network), programs_(programs), self_(self), names_(names) {}

  /// The step that send() and receive() belong to from now on.
  void begin(uint64_t step) { step_ = step; }

  Status agree(const std::string& program_hash) override {
    return programs_.check(names_[self_], cut_++, program_hash);
  }
  const std::string& task_name(TaskId task) const override { return names_[task]; }
  Status send(const Transfer& transfer, const Piece& piece, const StopSignal& stop) override;
  Result<Piece> receive(const Transfer& transfer, uint64_t iteration, const StopSignal& stop) override {
    return network_.inbox(self_).take({step_, transfer.copy, iteration}, stop);
  }

 private:
  LocalNetwork& network_;
  AgreedPrograms& programs_;
  const TaskId self_;
  const std::vector<std::string>& names_;  // by task
  size_t cut_ = 0;
  uint64_t step_ = 0;
};

/// A copy in host memory that shares nothing with the original; a list's elements are copied, too.
Result<Tensor> detached(const Tensor& value);

}  // namespace emplace
