#include "core/graph/node_summary.h"

#include "core/base/cat.h"
#include "core/op/attr_text.h"

namespace emplace {

std::string summarize_node(const Graph& graph, NodeId id) {
  return summarize_node(graph, id, graph.requested_device(id));
}

std::string summarize_node(const Graph& graph, NodeId id, std::string_view device) {
  std::string attrs = summarize_attrs(graph.attrs(id));
  if (!device.empty()) append(attrs, attrs.empty() ? "" : ", ", "_device=\"", device, "\"");
  std::string inputs;
  for (const Endpoint& e : graph.inputs(id)) {
    append(inputs, inputs.empty() ? "" : ", ", graph.name(e.node));
    if (e.slot > 0) append(inputs, ":", e.slot);
  }
  for (const Endpoint& e : graph.controls(id)) append(inputs, inputs.empty() ? "" : ", ", "^", graph.name(e.node));
  return cat("{{node ", graph.name(id), "}} = ", graph.op(id), "[", attrs, "](", inputs, ")");
}

}  // namespace emplace
