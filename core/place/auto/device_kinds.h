/// Devices that can change places, as one kind.
#pragma once

#include <algorithm>
#include <vector>

#include "core/place/auto/problem.h"

namespace emplace::autoplace {

struct DeviceKinds {
  explicit DeviceKinds(const Problem& p) {
    for (uint16_t d = 0; d < p.devices(); ++d) {
      const auto at = static_cast<size_t>(std::find(firsts.begin(), firsts.end(), p.device_class[d]) - firsts.begin());
      of.push_back(at);
      if (at == firsts.size()) {
        firsts.push_back(d), seconds.push_back(d), counts.push_back(1);
        continue;
      }
      if (seconds[at] == firsts[at]) seconds[at] = d;
      ++counts[at];
    }
  }
  size_t size() const { return firsts.size(); }

  std::vector<size_t> of;                 // by device: its kind
  std::vector<uint16_t> firsts, seconds;  // by kind; the same twice: there is no second
  std::vector<int> counts;
};

}  // namespace emplace::autoplace
