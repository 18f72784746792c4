/// StalenessGate: how many updates others make to the variables between a tower's reading them and its updating them,
/// and, if asked, a bound on that.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "core/base/fair_mutex.h"

namespace emplace {

/// Thread-safe.
class StalenessGate {
 public:
  /// `bound` < 0: none.
  StalenessGate(size_t towers, int64_t bound) : begun_(towers, kIdle), steps_(towers), bound_(bound) {}

  /// A step of this tower begins: waits, in line, until it can delay no step beyond the
  /// bound, itself included.
  void begin(size_t tower);
  /// The step has updated the variables.
  void end(size_t tower);
  /// The step will not end, and no other one of this tower begins.
  void give_up(size_t tower);

  /// Steps by their staleness. REQUIRES: no step is running.
  const std::map<int64_t, int64_t>& histogram() const { return histogram_; }
  /// Steps by tower. REQUIRES: no step is running.
  const std::vector<int64_t>& steps() const { return steps_; }

 private:
  static constexpr int64_t kIdle = -1;
  bool may_begin() const;

  FairMutex line_;  // held by the tower that waits to begin; before mutex_
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::vector<int64_t> begun_;  // by tower: the updates that were made when its step began
  std::vector<int64_t> steps_;
  int64_t updates_ = 0, running_ = 0;
  std::map<int64_t, int64_t> histogram_;

  const int64_t bound_;
};

}  // namespace emplace
