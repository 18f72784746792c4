/// TaskMap: the tasks (processes) that the devices of a set are on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/device/device.h"

namespace emplace {

/// Position in a TaskMap. 0 is the session's own task, whose devices stand first.
using TaskId = uint16_t;
inline constexpr TaskId kNoTask = 0xffff;

struct TaskMap {
  explicit TaskMap(const DeviceSet& devices);

  TaskId size() const { return static_cast<TaskId>(names.size()); }
  /// kNoTask if no device is on it.
  TaskId find(std::string_view name) const;
  /// Of a task: its devices, in the order of the set.
  std::vector<DeviceId> devices_of(TaskId task) const;

  std::vector<std::string> names;  // "/job:worker/replica:0/task:1"
  std::vector<TaskId> of;          // by device
  std::vector<DeviceId> host;      // by task: the CPU whose memory stands for all of its host memory
};

/// The devices of one task, as that task knows them: by their full names, its own ids, no link to others.
DeviceSet devices_of_task(const DeviceSet& devices, const TaskMap& tasks, TaskId task);

}  // namespace emplace
