#include "core/train/gradient_gate.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/train/loops/loop_gradient.h"

namespace emplace {
namespace {

std::vector<NodeId> sources_of(const std::vector<PartialGradient>& results) {
  std::vector<NodeId> sources;
  for (const PartialGradient& g : results) {
    if (g.valid()) sources.push_back(g.values.node);
  }
  std::sort(sources.begin(), sources.end());
  sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  return sources;
}

}  // namespace

void gate_gradients(GraphEditor& edit, LoopPlaces* loops, const NodeGradient& node,
                    std::vector<PartialGradient>& results) {
  const Graph& graph = edit.graph();
  const std::vector<NodeId> sources = sources_of(results);
  if (sources.size() < 2) return;
  const std::string_view device = graph.requested_device(sources.front());
  const bool one_device =
      std::all_of(sources.begin(), sources.end(), [&](NodeId s) { return graph.requested_device(s) == device; });
  const std::string scope = edit.names().unique(cat(node.scope(), "/tuple"));
  auto add = [&](NewNode added) {
    return node.loop() ? loops->add(std::move(added), node.loop()->place()) : edit.add_output(std::move(added));
  };
  const Endpoint gate = add({.name = cat(scope, "/group_deps"),
                             .op = "NoOp",
                             .controls = sources,
                             .device = std::string(one_device ? device : "")});
  for (PartialGradient& g : results) {
    if (!g.valid()) continue;
    const Endpoint passed = add({.name = cat(scope, "/control_dependency"),
                                 .op = "Identity",
                                 .inputs = {{g.values.node, g.values.slot}},
                                 .controls = {gate.node},
                                 .colocate_with = {g.values.node}});
    g.values = {passed.node, passed.slot};
  }
}

}  // namespace emplace
