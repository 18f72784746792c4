/// TF_DEVICE_MIN_SYS_MEMORY_IN_MB: what a GPU that is not split leaves to others (SingleVirtualDeviceMemoryLimit in
/// gpu_device.cc).
#pragma once

#include <cstdint>
#include <string>

namespace emplace {

struct SystemMemory {
  int64_t limit = 0;    // bytes that are left for the GPU's pool
  std::string warning;  // TensorFlow's words: the request is ignored
};

/// `limit` is what options make of the card, `available` its free bytes; `asked` the variable's value, null or empty:
/// not set.
SystemMemory leave_system_memory(int64_t limit, int64_t available, const char* asked);

}  // namespace emplace
