/// DeviceAccess: who may touch the memory of the stand-in's cards, and when.
#pragma once

namespace emplace::standin {

/// Device memory that is mapped (virtual_memory.cpp) can be touched only while one of these lives: in kernels and
/// copies, not by the host's code.
class DeviceAccess {
 public:
  DeviceAccess();
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
};

}  // namespace emplace::standin
