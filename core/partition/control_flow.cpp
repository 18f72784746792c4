#include "core/partition/control_flow.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/partition/frame_map.h"

namespace emplace {
namespace {

// Nodes of control flow run on a neighbour's device, but for an Enter of a reference, which stays with its variable.
Control move_of(const NodeType& type) {
  const Control control = type.traits->control;
  return control == Control::kEnter && is_ref(type.input_types[0]) ? Control::kNone : control;
}

// What makes a node move, by node type; empty if the graph has no control flow.
std::vector<Control> moves_of(const Graph& graph) {
  std::vector<Control> moves;
  bool any = false;
  for (const NodeType& type : graph.types()) {
    moves.push_back(move_of(type));
    any |= moves.back() != Control::kNone;
  }
  if (!any) moves.clear();
  return moves;
}

// The consumer of the earliest data edge of each Enter and NextIteration. Back edges come last.
std::unordered_map<NodeId, NodeId> first_consumers(const Graph& graph, const std::vector<Control>& control) {
  std::unordered_map<NodeId, NodeId> forward, back;
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    for (Endpoint e : graph.inputs(node)) {
      const Control c = control[graph.node(e.node).type];
      if (c == Control::kEnter || c == Control::kNextIteration)
        (e.node < node ? forward : back).try_emplace(e.node, node);
    }
  }
  forward.merge(back);
  return forward;
}

// The order in which TensorFlow looks at the nodes (DFS() of graph/algorithm.cc, from the source node): depth first, of
// a node's edges the last one first. Of a node with more than eight edges its own order is that of a hash table.
std::vector<NodeId> visiting_order(const Graph& graph) {
  const Consumers consumers(graph);
  std::vector<NodeId> order, stack;
  std::vector<char> seen(graph.num_nodes());
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    if (graph.inputs(node).empty() && graph.controls(node).empty()) stack.push_back(node);
  }
  while (!stack.empty()) {
    const NodeId node = stack.back();
    stack.pop_back();
    if (std::exchange(seen[node], 1)) continue;
    order.push_back(node);
    for (const bool back : {false, true}) {  // back edges come last
      for (const Consumers::Edge& e : consumers.of(node)) {
        if ((e.node < node) == back && !seen[e.node]) stack.push_back(e.node);
      }
    }
  }
  return order;
}

// By frame; kNoNode where a loop has none.
std::vector<NodeId> loop_conds(const Graph& graph, const FrameMap& frames) {
  std::vector<NodeId> conds(frames.size(), kNoNode);
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    if (graph.traits(node).loop_condition) conds[frames.of(node)] = node;
  }
  return conds;
}

}  // namespace

std::vector<Move> move_control_flow(const Graph& graph, std::vector<DeviceId>& device) {
  const std::vector<Control> control = moves_of(graph);
  std::vector<Move> moves;
  if (control.empty()) return moves;
  const auto consumers = first_consumers(graph, control);
  for (NodeId node : visiting_order(graph)) {
    NodeId neighbour = kNoNode;
    switch (control[graph.node(node).type]) {
      case Control::kSwitch:
      case Control::kExit:
        neighbour = graph.inputs(node)[0].node;
        break;
      case Control::kEnter:
      case Control::kNextIteration:
        if (auto it = consumers.find(node); it != consumers.end()) neighbour = it->second;
        break;
      default:
        break;
    }
    if (neighbour == kNoNode || device[node] == device[neighbour]) continue;
    device[node] = device[neighbour];
    moves.push_back({node, device[node]});
  }
  std::sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) { return a.node < b.node; });
  return moves;
}

std::vector<RemoteLoop> find_remote_loops(const Graph& graph, const std::vector<DeviceId>& device) {
  std::vector<RemoteLoop> loops;
  if (moves_of(graph).empty()) return loops;
  const Result<FrameMap> found = FrameMap::find(graph, nullptr);
  if (!found.ok()) return loops;  // a run will say so
  const FrameMap& frames = *found;
  const std::vector<NodeId> conds = loop_conds(graph, frames);
  std::set<std::pair<FrameId, DeviceId>> have;
  const auto add_edge = [&](NodeId source, NodeId consumer) {
    if (device[source] == device[consumer]) return;
    const FrameId frame = frames.of_outputs(source);
    if (frame == kRootFrame || frame != frames.of_inputs(consumer)) return;
    for (FrameId f = frame; f != kRootFrame && have.emplace(f, device[consumer]).second; f = frames.parent(f)) {
      if (conds[f] != kNoNode) loops.push_back({conds[f], device[consumer]});
    }
  };
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    for (Endpoint e : graph.inputs(node)) add_edge(e.node, node);
    for (Endpoint e : graph.controls(node)) add_edge(e.node, node);
  }
  return loops;
}

}  // namespace emplace
