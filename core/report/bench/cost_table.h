/// A table of costs as `emplace bench --save-costs` writes it, or a converter of published profiles, read again.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/device/device.h"

namespace emplace {

struct LinkCost {
  double latency_us = 0;
  double bytes_per_us = 0;  // 0: not known
  double spread = 0;

  /// 0: not known. A number that sums can bear, however small the speed.
  double us_per_byte() const;
};

struct LaneCost {
  std::optional<int> lanes;  // 0: without limit
  std::optional<bool> copy_overlap;
};

/// A kernel at one key, on one type of device.
struct KernelCost {
  std::string key;
  double us = 0, spread = 0;
  double flops = 0, bytes = 0;  // 0: not known
};

/// What the table says of one node: by "GPU" or "GPU:1", and the bytes of its outputs.
struct NodeRow {
  std::map<std::string, double> us, resident;
  std::vector<double> outputs;
  double spread = 0;
  double split_us = 0;  // more where who reads its result is on another device: measured, they ran as one
};

struct CostTable {
  std::string machine;                       // its id; empty: it does not say
  std::string version;                       // of the program that measured; likewise
  int64_t threads = 0;                       // that it ran on; 0: it does not say
  std::vector<std::string> machine_devices;  // as measured
  double flops_per_s = 0, bytes_per_s = 0;   // of the machine's CPU; 0: not known
  bool one_at_a_time = false;  // on CPUs and simulated GPUs: a step's nodes ran one after the other, on one thread
  std::map<std::string, LaneCost> lanes;                                           // by "GPU" or "GPU:1"
  std::map<std::pair<std::string, std::string>, LinkCost> links;                   // by both ends
  std::map<std::pair<std::string, std::string>, std::vector<KernelCost>> kernels;  // by op, then type of device
  std::map<std::string, NodeRow, std::less<>> nodes;                               // by name

  /// Of a copy between two devices; nothing if the table has no such link.
  std::optional<double> copy_us(const DeviceSet& devices, DeviceId from, DeviceId to, int64_t bytes) const;
  const LinkCost* link(const DeviceSet& devices, DeviceId from, DeviceId to) const;
  /// Of a node there.
  std::optional<double> node_us(std::string_view name, const DeviceSet& devices, DeviceId device) const;
  /// What `later` says counts where both say something.
  void merge(CostTable later);
};

/// The names by which a table may speak of a device, the closest first: "GPU:1", "GPU".
std::vector<std::string> names_in_costs(const DeviceSet& devices, DeviceId device);

/// InvalidArgument: no such table, or one with numbers that are none of a cost, or with devices that are none.
Result<CostTable> read_costs(std::string_view text, std::string_view origin);
/// Of a file, of 64 MiB at most. To blame is the file, or, where it cannot be opened, the option --costs.
Result<CostTable> read_cost_file(const std::string& path);

}  // namespace emplace
