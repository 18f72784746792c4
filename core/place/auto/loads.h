/// The load of every lane and copy engine when many steps are in flight: the largest is the time of a step. A group
/// moves in time that grows with its edges only.
#pragma once

#include <vector>

#include "core/place/auto/problem.h"

namespace emplace::autoplace {

/// Of a device, in a step.
struct DeviceLoad {
  double compute_us = 0;         // by one lane
  double in_us = 0, out_us = 0;  // copies
};

class Loads {
 public:
  Loads(const Problem& problem, const Assignment& at);

  const Assignment& at() const { return at_; }
  void move(uint32_t group, uint16_t device);
  /// The largest load.
  double value() const;
  /// For a search: falls also where loads below the largest one fall.
  double energy() const;
  DeviceLoad of(uint16_t device) const { return loads_[device]; }
  /// What the lane, or the busiest of lane and engines, has to do.
  double busiest(uint16_t device) const;

 private:
  void count(uint32_t tensor, int sign);
  void add_way(uint32_t tensor, uint16_t from, uint64_t wanted, int sign);

  const Problem& p_;
  Assignment at_;
  std::vector<DeviceLoad> loads_;
};

}  // namespace emplace::autoplace
