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

/// Copies that each step makes between devices, and of these those between tasks.
struct CopyCounts {
  int64_t all = 0, unknown = 0, bytes = 0;
  int64_t over_network = 0, network_bytes = 0;
};

/// `ran`: without constants of other tasks, which are made where they are read.
CopyCounts count_copies(const Graph& graph, const TaskMap& tasks, const CopyPlan& copies, bool ran) {
  CopyCounts found;
  for (const Copy& c : copies.copies) {
    if (c.control || c.inside) continue;
    const bool is_to_task = tasks.of[c.from] != tasks.of[c.to];
    if (ran && is_to_task && graph.traits(c.tensor.node).constant) continue;
    ++found.all;
    found.unknown += c.bytes ? 0 : 1, found.bytes += c.bytes.value_or(0);
    if (is_to_task) ++found.over_network, found.network_bytes += c.bytes.value_or(0);
  }
  return found;
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
std::string copied_text(const CopyCounts& counts, std::optional<int64_t> bytes_seen) {
  if (bytes_seen) return size_text(*bytes_seen);
  if (counts.unknown == counts.all) return "of unknown size";
  return cat(size_text(counts.bytes), counts.unknown > 0 ? cat(" and ", counts.unknown, " of unknown size") : "");
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
  const CopyCounts counts = count_copies(graph, tasks, copies, bytes_seen.has_value());
  if (counts.all > 0)
    append(out, " | ", counts.all, counts.all == 1 ? " copy" : " copies", "/step ", copied_text(counts, bytes_seen));
  if (counts.over_network > 0)
    append(out, ", ", counts.over_network, " over the network ", size_text(counts.network_bytes));
  return out;
}

}  // namespace emplace
