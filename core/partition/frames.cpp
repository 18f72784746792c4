#include "core/partition/frames.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "core/base/cat.h"

namespace emplace {
namespace {

constexpr uint32_t kRoot = 0;
constexpr size_t kMaxNesting = 200;  // loops in loops; more is no program that anybody wrote

}  // namespace

Control control_of(std::string_view op) {
  if (op.starts_with("Ref")) op.remove_prefix(3);
  if (op == "Switch") return Control::kSwitch;
  if (op == "Merge") return Control::kMerge;
  if (op == "Enter") return Control::kEnter;
  if (op == "Exit") return Control::kExit;
  if (op == "NextIteration") return Control::kNextIteration;
  return Control::kNone;
}

struct Frames::Builder {
  struct Frame {
    uint32_t parent = kRoot;
    size_t depth = 0;
    std::vector<NodeId> nodes;        // of this frame and the frames in it, ascending
    std::vector<NodeId> outer_inputs; // nodes outside that its Enters read
    bool done = false;
  };
  const Graph& graph;
  const Pruned& pruned;
  std::vector<Frame> frames{Frame{}};
  std::vector<uint32_t> frame_of = std::vector<uint32_t>(graph.num_nodes(), kRoot);
  std::vector<uint8_t> done = std::vector<uint8_t>(graph.num_nodes());
  std::vector<Item> order = {};

  bool back_edge(NodeId node, const Endpoint& input) const {
    return control_of(graph.op(node)) == Control::kMerge && control_of(graph.op(input.node)) == Control::kNextIteration;
  }
  uint32_t frame_of_output(NodeId id) const {
    return control_of(graph.op(id)) == Control::kExit ? frames[frame_of[id]].parent : frame_of[id];
  }

  template <class F>
  void for_each_source(NodeId id, const F& f) const {
    for (const Endpoint& e : graph.inputs(id)) {
      if (pruned.feed_of(e) < 0 && !back_edge(id, e)) f(e.node);
    }
    for (const Endpoint& e : graph.controls(id)) {
      if (pruned.orders(e.node)) f(e.node);
    }
  }

  Status assign_frames() {
    std::map<std::pair<uint32_t, std::string>, uint32_t> by_name;
    for (NodeId id : pruned.nodes()) {
      NodeId first = kNoNode, other = kNoNode;
      for_each_source(id, [&](NodeId source) {
        if (first == kNoNode) first = source;
        else if (frame_of_output(source) != frame_of_output(first)) other = source;
      });
      if (other != kNoNode) {
        return invalid_argument(cat("The node '", graph.name(id), "' has inputs from different frames: '",
                                    graph.name(first), "' and '", graph.name(other), "'"));
      }
      uint32_t outer = first == kNoNode ? kRoot : frame_of_output(first);
      frame_of[id] = outer;
      if (control_of(graph.op(id)) == Control::kEnter) {
        auto [it, is_new] = by_name.try_emplace({outer, graph.attrs(id).text("frame_name")}, frames.size());
        if (is_new) {
          frames.push_back({outer, frames[outer].depth + 1, {}, {}, false});
          if (frames.back().depth > kMaxNesting) return invalid_argument("loops are nested too deeply");
        }
        frame_of[id] = it->second;
        if (first != kNoNode) frames[it->second].outer_inputs.push_back(first);
        for_each_source(id, [&](NodeId source) { frames[it->second].outer_inputs.push_back(source); });
      }
      for (uint32_t f = frame_of[id]; f != kRoot; f = frames[f].parent) frames[f].nodes.push_back(id);
      frames[kRoot].nodes.push_back(id);
    }
    return ok_status();
  }

  // The piece that `id` belongs to, seen from `frame`: itself, or the loop inside `frame` that holds it.
  struct Unit {
    NodeId node = kNoNode;
    uint32_t frame = kRoot;
  };
  Unit unit_of(NodeId id, uint32_t frame) const {
    uint32_t f = frame_of[id];
    if (f == frame) return {id, frame};
    while (frames[f].parent != frame && f != kRoot) f = frames[f].parent;
    return {kNoNode, f};
  }
  bool is_done(const Unit& u) const { return u.node != kNoNode ? done[u.node] : frames[u.frame].done; }

  // A source of `u` that has to come before it and has not; or nothing.
  std::optional<Unit> pending_source(const Unit& u, uint32_t frame) const {
    std::optional<Unit> pending;
    auto look = [&](NodeId source) {
      if (pending) return;
      if (frame_of[source] != frame && frames[frame_of[source]].depth <= frames[frame].depth) return;  // outside: done
      Unit s = unit_of(source, frame);
      if (!is_done(s)) pending = s;
    };
    if (u.node != kNoNode) {
      if (control_of(graph.op(u.node)) != Control::kEnter) for_each_source(u.node, look);
    } else {
      for (NodeId source : frames[u.frame].outer_inputs) look(source);
    }
    return pending;
  }

  Status emit(uint32_t frame) {
    std::vector<Unit> stack;
    auto enters_first = [&](bool enters) -> Status {
      for (NodeId id : frames[frame].nodes) {
        if (frame_of[id] == frame && frame != kRoot && enters != (control_of(graph.op(id)) == Control::kEnter)) continue;
        if (enters && frame_of[id] != frame) continue;
        stack.push_back(unit_of(id, frame));
        RETURN_IF_ERROR(drain(stack, frame));
      }
      return ok_status();
    };
    if (frame != kRoot) RETURN_IF_ERROR(enters_first(true));
    return enters_first(false);
  }

  Status drain(std::vector<Unit>& stack, uint32_t frame) {
    while (!stack.empty()) {
      Unit u = stack.back();
      if (is_done(u)) {
        stack.pop_back();
        continue;
      }
      if (auto source = pending_source(u, frame)) {
        if (stack.size() > frames[frame].nodes.size()) return invalid_argument("a loop waits for its own result");
        stack.push_back(*source);
        continue;
      }
      stack.pop_back();
      if (u.node != kNoNode) {
        done[u.node] = 1;
        order.push_back({u.node, frame, 0});
      } else {
        frames[u.frame].done = true;
        size_t begin = order.size();
        order.push_back({kNoNode, u.frame, 0});
        RETURN_IF_ERROR(emit(u.frame));
        order[begin].size = static_cast<uint32_t>(order.size() - begin - 1);
      }
    }
    return ok_status();
  }
};

Result<Frames> Frames::find(const Graph& graph, const Pruned& pruned) {
  Builder b{graph, pruned};
  RETURN_IF_ERROR(b.assign_frames());
  RETURN_IF_ERROR(b.emit(kRoot));
  Frames frames;
  frames.order_ = std::move(b.order);
  return frames;
}

}  // namespace emplace
