/// A table of costs as `emplace bench --save-costs` writes it, read again.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/status.h"
#include "core/device/device.h"

namespace emplace {

struct LinkCost {
  double latency_us = 0;
  double bytes_per_us = 0;  // 0: not known
};

struct CostTable {
  std::map<std::pair<std::string, std::string>, LinkCost> links;            // by "GPU" or "GPU:1", both ends
  std::map<std::string, std::map<std::string, double>, std::less<>> nodes;  // us, by name, then by device

  /// Of a copy between two devices; nothing if the table has no such link.
  std::optional<double> copy_us(const DeviceSet& devices, DeviceId from, DeviceId to, int64_t bytes) const;
  /// Of a node there.
  std::optional<double> node_us(std::string_view name, const DeviceSet& devices, DeviceId device) const;
};

/// InvalidArgument: no such table, or one with numbers that are none of a cost.
Result<CostTable> read_costs(std::string_view text, std::string_view origin);

}  // namespace emplace
