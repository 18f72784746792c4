#include "core/device/device_text.h"

#include "core/base/cat.h"

namespace emplace {

std::string short_device_name(const DeviceSet& devices, DeviceId id) {
  const Device& device = devices.at(id);
  for (const Device& other : devices.devices) {
    if (!other.parsed.same_address_space(device.parsed)) return device.name;
  }
  return cat(device.type, ":", device.parsed.id.value_or(0));
}

}  // namespace emplace
