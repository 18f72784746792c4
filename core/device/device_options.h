/// DeviceOptions: which devices a user wants.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace emplace {

/// What the command line, the environment and the graph file say about devices.
struct DeviceOptions {
  std::string devices;           // --devices; empty: this machine
  std::string own_task;          // --master of a plan: "/job:worker/task:0"; empty: no task of theirs is preferred
  int simulate_gpus = 0;         // --simulate-gpus N
  int64_t simulated_memory = 0;  //   [:MEM]; 0: 16 GiB
  std::map<std::string, int> device_count;
  std::string visible_device_list;
  std::string logical_gpus;  // '0:1024,1024;1:2048'; or from config.virtual_devices:
  struct VirtualDevices {
    std::vector<double> memory_limit_mb;
    std::vector<int> priority, device_ordinal;
  };
  std::vector<VirtualDevices> virtual_devices;
  int virtual_devices_per_gpu =
      0;  // equal parts of each GPU without limits above, as config.num_virtual_devices_per_gpu; < 2: whole
  double memory_fraction = 0;  // 0: not set
  int64_t memory_limit = 0;    // bytes, 0: not set
  bool allow_growth = true;
};

}  // namespace emplace
