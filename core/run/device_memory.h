/// DeviceMemory: what a session's steps take of one device's memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/device/device.h"

namespace emplace {

/// Memory of one device, in bytes. The columns add up: planned + variables + constants + pool = peak, which the
/// limit bounds, and so do the tensors that are live then.
struct DeviceMemory {
  DeviceId device = kNoDevice;
  int64_t limit = 0;    // 0: none
  int64_t planned = 0;  // the block that static shapes share
  int64_t variables = 0;
  int64_t mapped = 0;  // variables that lie in a checkpoint's files, mapped, until they are written: in no other column
  int64_t constants = 0;  // on the host with what is fed; in a GPU's memory; and as kernels keep them
  int64_t pool = 0;       // largest use by dynamic shapes and scratch
  int64_t peak = 0;
  std::optional<int64_t>
      context;  // of a CUDA GPU that was used: what its card holds beside, outside the limit (Gpu::overhead_bytes())
  std::vector<std::pair<std::string, int64_t>> live_at_peak;  // producer, bytes; largest first
};

}  // namespace emplace
