#include "core/graph/handles.h"

#include <algorithm>

namespace emplace {
namespace {

bool is_handle(DType type) { return is_ref(type) || type == DType::kResource; }

}  // namespace

bool reads_handle(const Graph& graph, NodeId node) {
  const auto inputs = graph.inputs(node);
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const Endpoint& input) { return is_handle(graph.output_type(input)); });
}

bool makes_handle(const Graph& graph, NodeId node) {
  for (uint32_t slot = 0; slot < graph.num_outputs(node); ++slot) {
    if (is_handle(graph.output_type({node, slot}))) return true;
  }
  return false;
}

}  // namespace emplace
