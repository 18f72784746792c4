#include "core/device/device.h"

namespace emplace {

DeviceId DeviceSet::find(std::string_view full_name) const {
  for (DeviceId id = 0; id < size(); ++id) {
    if (devices[id].name == full_name) return id;
  }
  auto name = DeviceName::parse(full_name);
  if (!name || !name->complete()) return kNoDevice;
  for (DeviceId id = 0; id < size(); ++id) {
    if (devices[id].parsed == *name) return id;
  }
  return kNoDevice;
}

}  // namespace emplace
