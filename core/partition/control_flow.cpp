#include "core/partition/control_flow.h"

#include <set>
#include <string>
#include <unordered_map>
#include <utility>

namespace emplace {
namespace {

enum class Role : uint8_t { kNone, kSwitch, kExit, kEnter, kRefEnter, kNextIteration, kLoopCond };

Role role_of(std::string_view op) {
  if (op == "Switch" || op == "RefSwitch") return Role::kSwitch;
  if (op == "Exit" || op == "RefExit") return Role::kExit;
  if (op == "Enter") return Role::kEnter;
  if (op == "RefEnter") return Role::kRefEnter;
  if (op == "NextIteration" || op == "RefNextIteration") return Role::kNextIteration;
  return op == "LoopCond" ? Role::kLoopCond : Role::kNone;
}

// By node type; empty if the graph has no control flow.
std::vector<Role> roles_of(const Graph& graph) {
  std::vector<Role> roles;
  bool any = false;
  for (const NodeType& type : graph.types()) {
    roles.push_back(role_of(type.op));
    any |= roles.back() != Role::kNone;
  }
  if (!any) roles.clear();
  return roles;
}

// The consumer of a node's earliest data edge. Back edges come last.
std::unordered_map<NodeId, NodeId> first_consumers(const Graph& graph, const std::vector<Role>& roles) {
  std::unordered_map<NodeId, NodeId> forward, back;
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    for (Endpoint e : graph.inputs(node)) {
      const Role role = roles[graph.node(e.node).type];
      if (role == Role::kEnter || role == Role::kNextIteration) (e.node < node ? forward : back).try_emplace(e.node, node);
    }
  }
  forward.merge(back);
  return forward;
}

using FrameId = uint32_t;
constexpr FrameId kRoot = 0;

// The frames (loops) of a graph.
class Frames {
 public:
  Frames(const Graph& graph, const std::vector<Role>& roles);

  FrameId of_inputs(NodeId node) const { return is(node, Role::kEnter) ? parent_[frame_[node]] : frame_[node]; }
  FrameId of_outputs(NodeId node) const { return is(node, Role::kExit) ? parent_[frame_[node]] : frame_[node]; }
  /// The frame that a node belongs to: of an Enter and of an Exit, the loop itself.
  FrameId of(NodeId node) const { return frame_[node]; }
  FrameId parent(FrameId f) const { return parent_[f]; }
  NodeId loop_cond(FrameId f) const { return loop_cond_[f]; }

 private:
  bool is(NodeId node, Role role) const {
    const Role r = roles_[graph_.node(node).type];
    return r == role || (role == Role::kEnter && r == Role::kRefEnter);
  }
  FrameId enter(NodeId node, FrameId outer);

  const Graph& graph_;
  const std::vector<Role>& roles_;
  std::vector<FrameId> frame_;      // by node
  std::vector<FrameId> parent_;     // by frame
  std::vector<NodeId> loop_cond_;   // by frame
  std::unordered_map<std::string, FrameId> by_name_;
};

Frames::Frames(const Graph& graph, const std::vector<Role>& roles)
    : graph_(graph), roles_(roles), frame_(graph.num_nodes(), kRoot), parent_{kRoot}, loop_cond_{kNoNode} {
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    FrameId around = kRoot;
    if (const auto inputs = graph.inputs(node); !inputs.empty()) {
      // A Merge may have its back edge first.
      around = of_outputs(inputs[inputs[0].node < node || inputs.size() == 1 ? 0 : 1].node);
    } else if (const auto controls = graph.controls(node); !controls.empty()) {
      around = of_outputs(controls[0].node);
    }
    frame_[node] = is(node, Role::kEnter) ? enter(node, around) : around;
    if (is(node, Role::kLoopCond)) loop_cond_[frame_[node]] = node;
  }
}

FrameId Frames::enter(NodeId node, FrameId outer) {
  const AttrValue* name = graph_.attrs(node).find("frame_name");
  const std::string* text = name ? name->get_if<std::string>() : nullptr;
  auto [it, is_new] = by_name_.try_emplace(text ? *text : std::string{}, static_cast<FrameId>(parent_.size()));
  if (is_new) {
    parent_.push_back(outer);
    loop_cond_.push_back(kNoNode);
  }
  return it->second;
}

}  // namespace

std::vector<Move> move_control_flow(const Graph& graph, std::vector<DeviceId>& device) {
  const std::vector<Role> roles = roles_of(graph);
  std::vector<Move> moves;
  if (roles.empty()) return moves;
  const auto consumers = first_consumers(graph, roles);
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    NodeId neighbour = kNoNode;
    switch (roles[graph.node(node).type]) {
      case Role::kSwitch:
      case Role::kExit: neighbour = graph.inputs(node)[0].node; break;
      case Role::kEnter:
      case Role::kNextIteration:
        if (auto it = consumers.find(node); it != consumers.end()) neighbour = it->second;
        break;
      default: break;
    }
    if (neighbour == kNoNode || device[node] == device[neighbour]) continue;
    device[node] = device[neighbour];
    moves.push_back({node, device[node]});
  }
  return moves;
}

std::vector<RemoteLoop> find_remote_loops(const Graph& graph, const std::vector<DeviceId>& device) {
  const std::vector<Role> roles = roles_of(graph);
  std::vector<RemoteLoop> loops;
  if (roles.empty()) return loops;
  const Frames frames(graph, roles);
  std::set<std::pair<FrameId, DeviceId>> have;
  const auto add_edge = [&](NodeId source, NodeId consumer) {
    if (device[source] == device[consumer]) return;
    const FrameId frame = frames.of_outputs(source);
    if (frame == kRoot || frame != frames.of_inputs(consumer)) return;
    for (FrameId f = frame; f != kRoot && have.emplace(f, device[consumer]).second; f = frames.parent(f)) {
      if (frames.loop_cond(f) != kNoNode) loops.push_back({frames.loop_cond(f), device[consumer]});
    }
  };
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    for (Endpoint e : graph.inputs(node)) add_edge(e.node, node);
    for (Endpoint e : graph.controls(node)) add_edge(e.node, node);
  }
  return loops;
}

}  // namespace emplace
