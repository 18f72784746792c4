/// --devices: devices that are described, not found: a machine in short form, full names, or a file of
/// DeviceAttributes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/device/device.h"

namespace emplace {

/// TensorFlow's names of the devices of one process without a cluster.
inline constexpr std::string_view kLocalTask = "/job:localhost/replica:0/task:0";

struct DescribedDevices {
  /// Finished devices, in order. In a machine: its CPUs, then types other than GPU.
  std::vector<Device> devices;
  /// Short form: a machine, to which visible lists, counts, splits and caps apply.
  bool is_machine = false;
  std::vector<int64_t> gpu_memory;  // of the machine's GPUs, bytes; 0: not known
};

/// 'CPU,2xGPU:16GiB', '/job:a/replica:0/task:0/device:GPU:0:8GiB,CPU:0', '@file.json'. Parts of a name that are left
/// out are those of kLocalTask. InvalidArgument says which entry is wrong and how to write it.
Result<DescribedDevices> read_described(std::string_view spec);

/// A list of DeviceAttributes in JSON, or a document with a member "devices" that is one: what `emplace devices
/// --format json` prints. `origin` stands in messages.
Result<std::vector<Device>> parse_device_attributes(std::string_view json, std::string_view origin);

/// A described device of `name`, which is complete.
Device described_device(const DeviceName& name, int64_t memory_limit);

}  // namespace emplace
