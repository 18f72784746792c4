#include "core/partition/constants_first.h"

#include <algorithm>

namespace emplace {
namespace {

constexpr int64_t kMostElements = 1 << 14;  // of a tensor that is there longer for it

class ConstantParts {
 public:
  ConstantParts(const Graph& graph, const Pruned& pruned, const std::vector<DeviceId>& device_of,
                const std::vector<uint8_t>& is_cpu)
      : graph_(graph), pruned_(pruned), device_of_(device_of), is_cpu_(is_cpu), parts_(graph.num_nodes()) {}

  /// True: `id` is worked out of constants alone. In order, inputs first.
  bool add(NodeId id) {
    if (graph_.traits(id).constant) {
      if (graph_.controls(id).empty()) parts_[id] = kConstant;  // one of a branch waits for it, and may be dead
    } else if (may_move(id)) {
      parts_[id] = kDerived;
      for (const Endpoint& e : graph_.inputs(id)) {
        if (parts_[e.node] == kConstant) parts_[e.node] = kRead;
      }
    }
    return parts_[id] == kDerived;
  }
  /// After all: does it come first?
  bool comes_first(NodeId id) const { return parts_[id] >= kRead; }

 private:
  enum Part : uint8_t { kNone, kConstant, kRead, kDerived };

  bool may_move(NodeId id) const {
    const NodeType& type = graph_.type(id);
    const auto inputs = graph_.inputs(id);
    if (inputs.empty() || !type.signature || type.signature->is_stateful || !is_cpu_[device_of_[id]]) return false;
    if (graph_.traits(id).control != Control::kNone || !graph_.controls(id).empty()) return false;
    if (!std::all_of(inputs.begin(), inputs.end(),
                     [&](const Endpoint& e) { return parts_[e.node] != kNone && pruned_.feed_of(e) < 0; }))
      return false;
    for (uint32_t i = 0; i < graph_.num_outputs(id); ++i) {
      const Shape& shape = graph_.output_shape({id, i});
      if (!shape.fully_known() || shape.checked_num_elements().value_or(kMostElements + 1) > kMostElements)
        return false;
    }
    return true;
  }

  const Graph& graph_;
  const Pruned& pruned_;
  const std::vector<DeviceId>& device_of_;
  const std::vector<uint8_t>& is_cpu_;
  std::vector<uint8_t> parts_;  // by node: a Part
};

}  // namespace

std::vector<NodeId> order_constants_first(const Graph& graph, const Pruned& pruned,
                                          const std::vector<DeviceId>& device_of, const std::vector<uint8_t>& is_cpu,
                                          std::vector<NodeId> order) {
  ConstantParts parts(graph, pruned, device_of, is_cpu);
  bool any = false;
  for (const NodeId id : order) any |= parts.add(id);
  if (any) std::stable_partition(order.begin(), order.end(), [&](NodeId id) { return parts.comes_first(id); });
  return order;
}

}  // namespace emplace
