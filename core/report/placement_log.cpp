#include "core/report/placement_log.h"

#include <algorithm>
#include <utility>

#include "core/base/cat.h"
#include "core/base/printable.h"
#include "core/base/units.h"
#include "core/device/device_text.h"
#include "core/device/task_map.h"
#include "core/place/moved.h"

namespace emplace {
namespace {

int64_t num_tasks_used(const TaskMap& tasks, const std::vector<int64_t>& nodes) {
  std::vector<char> used(tasks.size());
  for (DeviceId d = 0; d < nodes.size(); ++d) used[tasks.of[d]] |= static_cast<char>(nodes[d] > 0);
  return std::count(used.begin(), used.end(), 1);
}

/// Of the copies, those from task to task, and their bytes where they are known.
std::pair<int64_t, int64_t> over_network(const TaskMap& tasks, const CopyPlan& copies) {
  int64_t count = 0, bytes = 0;
  for (const Copy& c : copies.copies) {
    if (c.control || c.inside || tasks.of[c.from] == tasks.of[c.to]) continue;
    ++count, bytes += c.bytes.value_or(0);
  }
  return {count, bytes};
}

}  // namespace

std::string device_mapping(const DeviceSet& devices) {
  std::string lines;
  for (const Device& d : devices.devices) {
    if (!d.physical_description.empty()) append(lines, d.name, " -> ", printable(d.physical_description), '\n');
  }
  return lines.empty() ? "Device mapping: no known devices.\n" : cat("Device mapping:\n", lines);
}

std::string placement_lines(const Graph& graph, const DeviceSet& devices, const Placement& placement, size_t first,
                            size_t count) {
  std::string out;
  for (size_t i = first; i < placement.order.size() && i - first < count; ++i) {
    const NodeId node = placement.order[i];
    append(out, graph.name(node), ": (", graph.op(node), "): ", devices.at(placement.device(node)).name, '\n');
  }
  return out;
}

namespace {

/// "8 B and 4 of unknown size".
std::string copied_text(const CopyPlan& copies, std::optional<int64_t> bytes_seen) {
  if (bytes_seen) return size_text(*bytes_seen);
  const auto unknown = std::count_if(copies.copies.begin(), copies.copies.end(),
                                     [](const Copy& c) { return !c.inside && !c.control && !c.bytes; });
  if (unknown == copies.num_across()) return "of unknown size";
  return cat(size_text(copies.bytes_across()), unknown > 0 ? cat(" and ", unknown, " of unknown size") : "");
}

}  // namespace

std::string placement_summary(const Graph& graph, const DeviceSet& devices, const PlaceOptions& options,
                              const Placement& placement, const CopyPlan& copies, int64_t moved_beside,
                              std::optional<int64_t> bytes_seen) {
  std::vector<int64_t> nodes(devices.size());
  for (const Decision& d : placement.decisions) ++nodes[d.device];
  const int64_t soft = moved_beside + count_moved_softly(graph, devices, options, placement);
  std::vector<DeviceId> shown;  // GPUs first
  for (DeviceId d = 0; d < devices.size(); ++d) {
    if (nodes[d] > 0) shown.push_back(d);
  }
  std::stable_partition(shown.begin(), shown.end(), [&](DeviceId d) { return devices.at(d).type == "GPU"; });

  const size_t all = placement.decisions.size();
  std::string out = cat("placed ", counted(static_cast<int64_t>(all), "node"));
  const TaskMap tasks(devices);
  if (tasks.size() > 1) append(out, " on ", counted(num_tasks_used(tasks, nodes), "task"));
  for (size_t i = 0; i < shown.size(); ++i) {
    append(out, i ? ", " : ": ", short_device_name(devices, shown[i]), ' ', nodes[shown[i]]);
  }
  if (soft > 0) append(out, " | ", soft, " moved by soft placement");
  const int64_t across = copies.num_across();
  if (across > 0)
    append(out, " | ", across, across == 1 ? " copy" : " copies", "/step ", copied_text(copies, bytes_seen));
  if (const auto [count, bytes] = over_network(tasks, copies); count > 0)
    append(out, ", ", count, " over the network ", size_text(bytes));
  return out;
}

}  // namespace emplace
