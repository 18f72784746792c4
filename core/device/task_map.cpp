#include "core/device/task_map.h"

#include <algorithm>
#include <unordered_map>

namespace emplace {

TaskMap::TaskMap(const DeviceSet& devices) {
  std::unordered_map<std::string, TaskId> known;
  for (DeviceId d = 0; d < devices.size(); ++d) {
    // Most neighbours are on one task.
    if (d > 0 && devices.at(d).parsed.same_address_space(devices.at(static_cast<DeviceId>(d - 1)).parsed)) {
      of.push_back(of.back());
    } else {
      const auto [it, is_new] = known.emplace(devices.at(d).parsed.task_name(), size());
      if (is_new) {
        names.push_back(it->first);
        host.push_back(kNoDevice);
      }
      of.push_back(it->second);
    }
    if (host[of[d]] == kNoDevice && devices.at(d).type == "CPU") host[of[d]] = d;
  }
  for (DeviceId d = devices.size(); d-- > 0;) {
    if (host[of[d]] == kNoDevice || devices.at(host[of[d]]).type != "CPU")
      host[of[d]] = d;  // the first, if none is a CPU
  }
}

TaskId TaskMap::find(std::string_view name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? kNoTask : static_cast<TaskId>(found - names.begin());
}

std::vector<DeviceId> TaskMap::devices_of(TaskId task) const {
  std::vector<DeviceId> found;
  for (DeviceId d = 0; d < of.size(); ++d) {
    if (of[d] == task) found.push_back(d);
  }
  return found;
}

DeviceSet devices_of_task(const DeviceSet& devices, const TaskMap& tasks, TaskId task) {
  // Not a copy without devices: a thousand tasks would each copy, and keep room for, those of all.
  DeviceSet own{.devices = {},
                .physical_gpus = devices.physical_gpus,
                .no_gpu_cause = devices.no_gpu_cause,
                .gpus = devices.gpus,
                .own_task = tasks.names[task],
                .runnable = devices.runnable,
                .allow_growth = devices.allow_growth,
                .guards_tensors = devices.guards_tensors,
                .growth_error = devices.growth_error};
  for (const DeviceId d : tasks.devices_of(task)) own.devices.push_back(devices.at(d));
  return own;
}

}  // namespace emplace
