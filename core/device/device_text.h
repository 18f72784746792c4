/// Devices as people read them.
#pragma once

#include <string>

#include "core/device/device.h"

namespace emplace {

/// "GPU:0" for ".../device:GPU:0"; the full name when the devices are of several tasks.
std::string short_device_name(const DeviceSet& devices, DeviceId id);

}  // namespace emplace
