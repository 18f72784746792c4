/// StalenessGate: how many updates others make to the variables between a tower's reading them and its updating them,
/// and, if asked, a bound on that.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace emplace {

/// Thread-safe.
class StalenessGate {
 public:
  /// `bound` < 0: none.
  StalenessGate(size_t towers, int64_t bound) : begun_(towers, kIdle), bound_(bound) {}

  /// A step of this tower begins: waits until it can delay no step beyond the bound, itself included.
  void begin(size_t tower);
  /// The step has updated the variables.
  void end(size_t tower);

  /// Steps by their staleness. REQUIRES: no step is running.
  const std::map<int64_t, int64_t>& histogram() const { return histogram_; }

 private:
  static constexpr int64_t kIdle = -1;
  bool may_begin() const;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::vector<int64_t> begun_;  // by tower: the updates that were made when its step began
  int64_t updates_ = 0, running_ = 0;
  std::map<int64_t, int64_t> histogram_;

  const int64_t bound_;
};

}  // namespace emplace
