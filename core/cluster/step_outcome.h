/// StepOutcome: how a step ended that several tasks run: well once all are done, else by the first failure, which is
/// the only one told.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "core/base/status.h"

namespace emplace {

/// Thread-safe.
class StepOutcome {
 public:
  /// `step`: its number, which the loss of a task is told with; none: who asked for the step counts.
  explicit StepOutcome(size_t parts, std::optional<int64_t> step = std::nullopt) : step_(step), left_(parts) {}

  /// A task's part failed, before it ends. What comes later, mostly because others were told to stop, does not count.
  /// `task` empty: it was stopped from outside.
  void failed(const std::string& task, const Status& status);
  /// Likewise: a part found another task lost.
  void lost(const Status& status);
  /// What a part waited for when it was stopped; told of such a loss.
  void stood_at(const std::string& node);
  /// A task's part has ended: nothing of it runs any longer.
  void ended();
  /// True once all parts have ended; false after so long.
  bool wait_for(std::chrono::milliseconds time);
  /// After the last has ended: the first failure, as "From TASK:\n..." with its node. That a step takes too long is no
  /// task's own failure.
  Status status() const;

 private:
  const std::optional<int64_t> step_;
  mutable std::mutex mutex_;
  std::condition_variable done_;
  // Guarded by mutex_.
  size_t left_;
  Status cause_;
  bool is_loss_ = false;
};

}  // namespace emplace
