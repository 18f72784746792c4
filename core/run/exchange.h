/// Exchange: how one task's part of a step hands values to other tasks' parts and gets theirs. What lies between,
/// memory or a network, is the implementation's.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/partition/program.h"
#include "core/run/stop_signal.h"
#include "core/tensor/tensor.h"

namespace emplace {

/// What arrives: a value, nothing but that the sender came so far (not valid), or that it did not run (dead).
struct Piece {
  Tensor value;
  bool dead = false;
  uint64_t iteration = 0;  // inside loops: how often the sender came by in this step, from 0 on
};

class CutPrograms;

class Exchange {
 public:
  virtual ~Exchange() = default;
  /// A program was cut, of which the task will run its part: all tasks cut the same ones in the same order.
  /// FailedPrecondition: another task has cut another one; both hashes.
  virtual Status agree(const std::string& program_hash) = 0;
  /// Of a transfer's peer, for messages.
  virtual const std::string& task_name(TaskId task) const = 0;
  /// Are there collectives for a program's rounds? Then begin_rounds() is called before each run of a program that has
  /// some, on all tasks.
  virtual bool takes_rounds() const { return false; }
  virtual void begin_rounds(const std::shared_ptr<const Rounds>&) {}
  /// Takes a copy of what it needs, and shares nothing of `piece` afterwards. Does not wait for the receiver, but where
  /// this task runs far ahead in a loop; `stop` ends that.
  virtual Status send(const Transfer& transfer, const Piece& piece, const StopSignal& stop) = 0;
  /// Waits until the piece of this iteration is there. `stop` ends the waiting, and so does a failure elsewhere:
  /// CANCELLED.
  virtual Result<Piece> receive(const Transfer& transfer, uint64_t iteration, const StopSignal& stop) = 0;
};

/// Which part of a cluster's steps a session runs: that of one task.
struct TaskShare {
  /// Both must outlive the session.
  const DeviceSet& cluster;
  Exchange& exchange;
  const std::shared_ptr<const TaskMap> map;
  const TaskMap& tasks = *map;
  const TaskId task;
  std::vector<DeviceId> own_device;  // by the cluster's ids; kNoDevice: another task's
  std::string collective_id;         // of GPUs of several tasks; empty: they have none
  CutPrograms* programs = nullptr;   // of other tasks of this process with the same graph; null: there are none

  TaskShare(const DeviceSet& all, TaskId self, Exchange& with)
      : TaskShare(all, std::make_shared<const TaskMap>(all), self, with) {}
  /// `of_all`: of these devices.
  TaskShare(const DeviceSet& all, std::shared_ptr<const TaskMap> of_all, TaskId self, Exchange& with)
      : cluster(all), exchange(with), map(std::move(of_all)), task(self) {
    DeviceId next = 0;
    for (const TaskId of : tasks.of) own_device.push_back(of == self ? next++ : kNoDevice);
  }
};

}  // namespace emplace
