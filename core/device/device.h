/// DeviceSet: the devices that a graph is placed on: this machine's, simulated ones, or described ones.
/// Attributes only: making a set touches no device.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/device/device_name.h"

namespace emplace {

enum class DeviceKind : uint8_t { kCpu, kSimulatedGpu, kCuda, kDescribed };

class GpuBackend;

struct DeviceLink {
  int device_id = 0;
  std::string type;
  int strength = 0;
};

/// A card of the machine, or a simulated one, whether or not the process may see it.
struct PhysicalGpu {
  std::string name;                // "Simulated GPU"
  std::string pci_bus_id;          // "0000:01:00.0"
  std::string uuid;                // "GPU-00000000-..."
  std::string compute_capability;  // "9.0"
  int64_t memory = 0;              // bytes; 0: not known
  int64_t free_memory = -1;        // bytes; -1: not known, or not a real card
  int platform_id = -1;            // CUDA's ordinal after CUDA_VISIBLE_DEVICES; -1: hidden
  int nvml_index = -1;             // nvidia-smi's number; -1: not known
  std::string unusable;            // why the plug-in cannot use it; empty: it can
};

/// TensorFlow's DeviceAttributes (device_attributes.proto) and what emplace adds.
struct Device {
  std::string name;  // full name
  DeviceName parsed;
  std::string type;  // "CPU", "GPU"
  DeviceKind kind = DeviceKind::kCpu;
  int64_t memory_limit = 0;          // bytes; 0: not known, or no limit of its own (CPU)
  std::string physical_description;  // "device: 0, name: ..., pci bus id: ..., compute capability: 9.0"; empty: CPU
  int physical_gpu = -1;             // index in DeviceSet::physical_gpus, before any remapping
  int stream_priority = 0;           // of a logical GPU; CUDA's numbers, lower is more urgent
  int numa_node = 0;
  std::vector<DeviceLink> links;
  std::map<std::string, double> capability;  // peak FLOP/s by dtype, bandwidths; from a --devices file
};

/// Position in a DeviceSet.
using DeviceId = uint16_t;
inline constexpr DeviceId kNoDevice = 0xffff;

struct DeviceSet {
  std::vector<Device> devices;
  /// In the machine's order, the hidden ones too.
  std::vector<PhysicalGpu> physical_gpus;
  /// Why there is no GPU ("no CUDA plug-in", "no NVIDIA driver", "CUDA_VISIBLE_DEVICES hides all 2 GPUs"); empty if
  /// there is one.
  std::string no_gpu_cause;
  /// Behind devices of kind kCuda: the loaded plug-in, which lives forever. Null: none is wanted, or there is none.
  GpuBackend* gpus = nullptr;
  /// The task that a session talks to, "/job:worker/replica:0/task:0": its devices stand first, and are preferred
  /// among those of one type (Device::IsLocal in TensorFlow). Empty: a single process, or nobody said which.
  std::string own_task;
  /// Described devices can be planned for, not run on.
  bool runnable = true;
  /// The option, or what TF_FORCE_GPU_ALLOW_GROWTH makes of it.
  bool allow_growth = true;
  /// EMPLACE_GPU_GUARD=1: a tensor in a real GPU's memory ends where its pages do, so that whoever runs over it fails
  /// (core/device/gpu_pool.h). For looking for such errors: each tensor takes a page, and nothing is planned ahead.
  bool guards_tensors = false;
  /// TensorFlow's words if that variable cannot be read: an error on the log, and no more.
  std::string growth_error;

  const Device& at(DeviceId id) const { return devices[id]; }
  DeviceId size() const { return static_cast<DeviceId>(devices.size()); }
  /// By full name, the legacy spelling (".../gpu:0") included; kNoDevice if there is none.
  DeviceId find(std::string_view full_name) const;
  /// Of the session's own task; all are, where nobody said which it is.
  bool is_local(DeviceId id) const { return own_task.empty() || devices[id].parsed.task_name() == own_task; }
};

}  // namespace emplace
