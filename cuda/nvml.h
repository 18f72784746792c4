/// NVML: what it tells about the machine's cards without creating a context: also of those that the process's mask hides.
#pragma once

#include <string>
#include <vector>

#include "core/device/device.h"

namespace emplace::cuda {

/// In NVML's order, nvml_index set, platform_id -1. Unavailable: no libnvidia-ml.so.1, or it failed.
Result<std::vector<PhysicalGpu>> nvml_cards();

}  // namespace emplace::cuda
