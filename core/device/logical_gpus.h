/// TensorFlow's GPUs: which of the visible cards are used, how each is split, and how much memory each part may take.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/device/device.h"
#include "core/device/device_options.h"

namespace emplace {

/// One TensorFlow GPU; its position in the list is its id.
struct LogicalGpu {
  int platform_id = 0;
  int64_t memory_limit = 0;  // bytes; 0: not known
  int priority = 0;
  int share_of =
      0;  // > 0: one of so many equal parts of what the card gives, `memory_limit` in all; 0: the limit is its own
};

/// '0:1024,1024;1:2048': index of a GPU in use, then a limit in MiB per logical GPU. GPUs without an entry stay whole.
Result<std::vector<DeviceOptions::VirtualDevices>> parse_logical_gpus(std::string_view text);

/// The GPUs that `options` make of the visible cards (by platform id). TensorFlow's checks in its order, then ours:
/// limits greater than zero, their sum within the card's memory.
Result<std::vector<LogicalGpu>> make_logical_gpus(const DeviceOptions& options,
                                                  std::span<const PhysicalGpu* const> visible);

}  // namespace emplace
