/// DeviceAccess: who may touch the memory of the stand-in's cards, and when.
#pragma once

namespace emplace::standin {

/// Device memory that is mapped (virtual_memory.cpp) can be touched only while one of these lives: in kernels and
/// copies of a card that was given access, not by the host's code.
class DeviceAccess {
 public:
  static constexpr int kEveryCard = -1;  // what cards send each other is theirs

  explicit DeviceAccess(int device);
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;

 private:
  const int device_;
};

}  // namespace emplace::standin
