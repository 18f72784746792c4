/// NVML: what it tells about the machine's cards without creating a context: also of those that the process's mask
/// hides.
#pragma once

#include <string>
#include <vector>

#include "core/device/device.h"

namespace emplace::cuda {

/// Of the card with this UUID, in bytes.
struct CardUse {
  int64_t free = 0;          // of all processes' memory
  int64_t this_process = 0;  // 0: NVML does not tell (another namespace of processes, or no right to know)
};
Result<CardUse> nvml_use(const std::string& uuid);

/// In NVML's order, nvml_index set, platform_id -1. Unavailable: no libnvidia-ml.so.1, or it failed.
Result<std::vector<PhysicalGpu>> nvml_cards();

}  // namespace emplace::cuda
