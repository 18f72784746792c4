#include "core/partition/host_waits.h"

#include <algorithm>

#include "core/device/gpu.h"
#include "core/graph/node_kernel.h"
#include "core/partition/deferred.h"
#include "core/partition/meetings.h"

namespace emplace {
namespace {

class HostWaitCounter {
 public:
  HostWaitCounter(const Graph& graph, const DeviceSet& devices, const std::vector<DeviceId>& device_of,
                  MemoryKinds& memory, const Pruned& pruned)
      : graph_(graph),
        devices_(devices),
        device_of_(device_of),
        memory_(memory),
        pruned_(pruned),
        waits_(graph.num_nodes()) {}

  /// REQUIRES: its inputs have been counted.
  void count(NodeId node) {
    uint32_t n = 0;
    auto inputs = graph_.inputs(node);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (pruned_.feed_of(inputs[i]) < 0) n = std::max(n, waits_[inputs[i].node] + (comes_from_gpu(node, i) ? 1 : 0));
    }
    for (const Endpoint& e : graph_.controls(node)) n = std::max(n, waits_[e.node]);
    if (kernel_waits(node)) ++n;
    if (changes_state(node))
      n = users_ = writers_ = std::max({n, users_, writers_});
    else if (uses_state(node))
      users_ = std::max(users_, n = std::max(n, writers_));
    else if (has_effect(node))
      n = effects_ = std::max(n, effects_);
    waits_[node] = n;
  }
  uint32_t of(NodeId node) const { return waits_[node]; }
  void raise(NodeId node, uint32_t n) { waits_[node] = std::max(waits_[node], n); }

 private:
  bool on_cuda(NodeId node) const { return devices_.at(device_of_[node]).kind == DeviceKind::kCuda; }

  /// Is input i made in a GPU's memory and wanted in the host's?
  bool comes_from_gpu(NodeId node, size_t i) {
    const Endpoint from = graph_.inputs(node)[i];
    const DType wanted = graph_.type(node).input_types[i], made = graph_.output_type(from);
    if (!on_cuda(from.node) || is_ref(wanted) || made == DType::kResource) return false;
    if (!is_ref(made) &&
        memory_.output(from.node, from.slot, devices_.at(device_of_[from.node]).type) == MemoryKind::kHost)
      return false;
    return !on_cuda(node) || memory_.input(node, i, devices_.at(device_of_[node]).type) == MemoryKind::kHost;
  }
  /// Reads back what it needs to know (a size that only its elements tell).
  bool kernel_waits(NodeId node) const {
    const NodeType& type = graph_.type(node);
    return on_cuda(node) && devices_.gpus && !is_collective(graph_, node) &&
           !devices_.gpus->kernel(type.op, kernel_type(type)).records;
  }
  /// Of variables and stacks.
  bool uses_state(NodeId node) const {
    auto types = graph_.type(node).input_types;
    return std::any_of(types.begin(), types.end(), [](DType t) { return is_ref(t) || t == DType::kResource; });
  }
  bool changes_state(NodeId node) const {
    if (writes_variable(graph_, node)) return true;
    const NodeType& type = graph_.type(node);
    if (!uses_state(node) || !type.signature || !type.signature->is_stateful) return false;
    return !type.traits->leaves_state;
  }
  /// Random numbers follow from the node's own count.
  bool has_effect(NodeId node) const {
    const NodeType& type = graph_.type(node);
    const OpTraits& op = *type.traits;
    return type.signature && type.signature->is_stateful && !op.variable && !op.collective && !op.random;
  }

  const Graph& graph_;
  const DeviceSet& devices_;
  const std::vector<DeviceId>& device_of_;
  MemoryKinds& memory_;
  const Pruned& pruned_;
  std::vector<uint32_t> waits_;                     // by node
  uint32_t writers_ = 0, users_ = 0, effects_ = 0;  // the most of those so far
};

}  // namespace

std::vector<NodeId> order_for_host_waits(const Graph& graph, const DeviceSet& devices,
                                         const std::vector<DeviceId>& device_of, MemoryKinds& memory,
                                         const Pruned& pruned, std::vector<NodeId> order) {
  if (std::count_if(devices.devices.begin(), devices.devices.end(),
                    [](const Device& d) { return d.kind == DeviceKind::kCuda; }) < 2)
    return order;
  std::vector<uint8_t> used(devices.size());
  for (NodeId id : order) used[device_of[id]] = devices.at(device_of[id]).kind == DeviceKind::kCuda;
  if (std::count(used.begin(), used.end(), 1) < 2) return order;

  HostWaitCounter waits(graph, devices, device_of, memory, pruned);
  auto meet = [&](NodeId a, NodeId b) {
    return is_collective(graph, a) && is_collective(graph, b) &&
           graph.attrs(a).text("shared_name") == graph.attrs(b).text("shared_name");
  };
  for (size_t i = 0, end = 0; i < order.size(); i = end) {
    uint32_t most = 0;
    for (end = i; end < order.size() && (end == i || meet(order[i], order[end])); ++end) {
      waits.count(order[end]);
      most = std::max(most, waits.of(order[end]));
    }
    for (size_t member = i; member < end; ++member) waits.raise(order[member], most);
  }
  std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return waits.of(a) < waits.of(b); });
  return order;
}

}  // namespace emplace
