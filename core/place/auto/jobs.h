/// Groups as jobs for machines: each takes so long of one device, wherever it is, and devices take them one after the
/// other. What the busiest device has to do at least bounds a step in flight, and a step alone as well.
#pragma once

#include <vector>

#include "core/place/auto/budget.h"
#include "core/place/auto/device_kinds.h"
#include "core/place/auto/problem.h"

namespace emplace::autoplace {

class Jobs {
 public:
  /// What holds for every assignment that takes less than `below_us`: a job takes no device for longer, and groups are
  /// one job if a tensor between them takes that long to copy. kNever: for all assignments.
  Jobs(const Problem& problem, double below_us);

  /// The largest job on the device that is fastest for it.
  double largest_us() const;
  /// If jobs could be split: by weights on devices and a price of memory, under which no assignment has less work.
  double fractional_us(Budget& budget) const;
  /// Of more jobs than devices, some device has several.
  double packed_us() const;

 private:
  void unite_across(uint32_t tensor, std::vector<uint32_t>& root) const;
  double crossing_us(uint32_t tensor) const;
  double packed_us(std::vector<double>& us, size_t devices) const;
  double split_us(double us_per_byte, int rounds, Budget& budget) const;
  double us(size_t job, size_t kind) const { return us_[job * kinds_.size() + kind]; }
  double least_us(size_t job) const;
  size_t size() const { return us_.size() / kinds_.size(); }

  const Problem& p_;
  const double below_us_;
  const DeviceKinds kinds_;
  std::vector<double> us_;        // job * kinds + kind: of a device's time; kNever: cannot be there
  std::vector<double> memory_;    // likewise, where there is a limit
  std::vector<double> capacity_;  // by kind: the memory of all its devices; 0: without limit
};

}  // namespace emplace::autoplace
