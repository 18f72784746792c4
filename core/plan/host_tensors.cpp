#include "core/plan/host_tensors.h"

namespace emplace {

int64_t list_constants(const Graph& graph, LiveList& live) {
  int64_t sum = 0;
  std::vector<uint8_t> counted(graph.types().size());  // nodes with the same attrs share a type, and the value
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    const NodeType& type = graph.type(node);
    if (!type.traits || !type.traits->constant || counted[graph.node(node).type]) continue;
    counted[graph.node(node).type] = 1;
    const Tensor& value = graph.attrs(node).tensor("value");
    if (value.dtype() == DType::kString) continue;
    live.add(graph.name(node), static_cast<int64_t>(value.size_bytes()));
    sum += static_cast<int64_t>(value.size_bytes());
  }
  return sum;
}

int64_t list_once(const Graph& graph, const Program& program, const Plan& plan, LiveList& live) {
  int64_t sum = 0;
  for (const ValueId v : plan.kept) {
    const auto bytes = static_cast<int64_t>(plan.values[v].known->size_bytes());
    live.add(graph.name(program.values[v].tensor.node), bytes);
    sum += bytes;
  }
  return sum;
}

int64_t list_feeds(const Graph& graph, const Program& program, const Plan& plan, std::set<const void*>& seen,
                   LiveList& live) {
  int64_t sum = 0;
  for (ValueId v : program.feeds) {
    const Tensor* fed = v == kNoValue ? nullptr : plan.values[v].known;
    if (!fed || fed->dtype() == DType::kString || program.values[v].home != program.host) continue;
    if (!seen.insert(fed->raw()).second) continue;
    const auto bytes = static_cast<int64_t>(fed->size_bytes());
    live.add(graph.name(program.values[v].tensor.node), bytes);
    sum += bytes;
  }
  return sum;
}

}  // namespace emplace
