#include "core/cluster/cluster.h"

#include <algorithm>

#include "core/base/cat.h"

namespace emplace {

namespace {

/// Cards are told apart by their UUID, since two tasks of a machine may have the same.
int index_of_card(DeviceSet& set, const message::DeviceMessage& d) {
  if (d.uuid.empty() || static_cast<DeviceKind>(d.kind) != DeviceKind::kCuda) return -1;
  std::vector<PhysicalGpu>& cards = set.physical_gpus;
  const auto known = std::find_if(cards.begin(), cards.end(), [&](const PhysicalGpu& g) { return g.uuid == d.uuid; });
  if (known != cards.end()) return static_cast<int>(known - cards.begin());
  cards.emplace_back().uuid = d.uuid;
  return static_cast<int>(cards.size()) - 1;
}

}  // namespace

std::string Cluster::no_collectives() const {
  for (const message::TaskStatus& task : tasks_.tasks) {
    if (!task.no_collectives.empty()) return cat(task.name, ": ", task.no_collectives);
  }
  return {};
}

DeviceSet Cluster::devices() const {
  DeviceSet set;
  set.own_task = tasks_.tasks.front().name;
  for (const message::TaskStatus& task : tasks_.tasks) {
    for (const message::DeviceMessage& d : task.devices) {
      const std::optional<DeviceName> name = DeviceName::parse(d.name);
      if (!name || !name->complete()) continue;
      Device& made = set.devices.emplace_back();
      made.name = d.name, made.parsed = *name, made.type = *name->type;
      made.kind = static_cast<DeviceKind>(d.kind), made.memory_limit = d.memory_limit;
      made.physical_description = d.physical_description, made.physical_gpu = index_of_card(set, d);
    }
  }
  const bool gpu = std::any_of(set.devices.begin(), set.devices.end(), [](const Device& d) { return d.type == "GPU"; });
  if (!gpu) set.no_gpu_cause = "the cluster has none";
  return set;
}

DeviceSet under_task(DeviceSet devices, const ClusterTask& self) {
  for (Device& d : devices.devices) {
    d.parsed.job = self.job, d.parsed.replica = 0, d.parsed.task = self.index;
    d.name = d.parsed.to_string();
  }
  devices.own_task = self.name();
  return devices;
}

}  // namespace emplace
