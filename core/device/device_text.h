/// Devices as people read and type them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/device/device.h"

namespace emplace {

/// "GPU:0" for ".../device:GPU:0"; the full name when the devices are of several tasks.
std::string short_device_name(const DeviceSet& devices, DeviceId id);

/// The device string that is meant by "gpu", "GPU:0", "/gpu:0", "gpu:0", "job:worker/cpu:0" or a full name; nothing if
/// it cannot be read as a device.
std::optional<std::string> device_as_typed(std::string_view text);

/// "/device:GPU:1" for what other programs call "cuda:1", "gpu1", "GPU_1"; "/device:CPU" for "Cpu". Nothing for any
/// other text, nor for one that is right.
std::optional<std::string> device_of_other_words(std::string_view text);

/// The memory that the device promises, in bytes; 0: it says nothing about it. What TensorFlow writes down for every
/// CPU, 256 MiB, promises nothing.
int64_t promised_memory(const Device& device);

}  // namespace emplace
