#include "core/partition/frames.h"

#include <algorithm>
#include <optional>

#include "core/base/cat.h"

namespace emplace {

struct Frames::Builder {
  struct Frame {
    std::vector<NodeId> nodes;         // of this frame and the frames in it, ascending
    std::vector<NodeId> outer_inputs;  // nodes outside that its Enters read
    bool done = false;
  };
  Builder(const Graph& g, FrameMap frame_map)
      : graph(g), map(std::move(frame_map)), frames(map.size()), done(g.num_nodes()) {}

  const Graph& graph;
  const FrameMap map;
  std::vector<Frame> frames;  // by FrameId
  std::vector<uint8_t> done;  // by node
  std::vector<Item> order;

  void add(NodeId id) {
    if (map.control(id) == Control::kEnter)
      map.for_each_source(id, [&](NodeId source) { frames[map.of(id)].outer_inputs.push_back(source); });
    for (FrameId f = map.of(id); f != kRootFrame; f = map.parent(f)) frames[f].nodes.push_back(id);
    frames[kRootFrame].nodes.push_back(id);
  }

  // The piece that `id` belongs to, seen from `frame`: itself, or the loop inside `frame` that holds it.
  struct Unit {
    NodeId node = kNoNode;
    FrameId frame = kRootFrame;
  };
  Unit unit_of(NodeId id, FrameId frame) const {
    FrameId f = map.of(id);
    if (f == frame) return {id, frame};
    while (map.parent(f) != frame && f != kRootFrame) f = map.parent(f);
    return {kNoNode, f};
  }
  bool is_done(const Unit& u) const { return u.node != kNoNode ? done[u.node] : frames[u.frame].done; }

  // A source of `u` that has to come before it and has not; or nothing.
  std::optional<Unit> pending_source(const Unit& u, FrameId frame) const {
    std::optional<Unit> pending;
    auto look = [&](NodeId source) {
      if (pending) return;
      if (map.of(source) != frame && map.depth(map.of(source)) <= map.depth(frame)) return;  // outside: done
      Unit s = unit_of(source, frame);
      if (!is_done(s)) pending = s;
    };
    if (u.node != kNoNode) {
      if (map.control(u.node) != Control::kEnter) map.for_each_source(u.node, look);
    } else {
      for (NodeId source : frames[u.frame].outer_inputs) look(source);
    }
    return pending;
  }

  Status emit(FrameId frame) {
    std::vector<Unit> stack;
    const auto emit_those = [&](auto these) -> Status {
      for (NodeId id : frames[frame].nodes) {
        if (!these(id)) continue;
        stack.push_back(unit_of(id, frame));
        RETURN_IF_ERROR(drain(stack, frame));
      }
      return ok_status();
    };
    if (frame != kRootFrame) {
      RETURN_IF_ERROR(emit_those([&](NodeId id) { return map.of(id) == frame && map.control(id) == Control::kEnter; }));
      RETURN_IF_ERROR(emit_those([&](NodeId id) { return map.of(id) == frame && begins_iteration(id); }));
    }
    return emit_those([](NodeId) { return true; });
  }

  // It takes what the iteration before left, and so it comes before whoever makes another of that.
  bool begins_iteration(NodeId id) const {
    if (map.control(id) != Control::kMerge || !graph.controls(id).empty()) return false;
    const auto inputs = graph.inputs(id);
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const Endpoint& e) { return map.control(e.node) == Control::kNextIteration; });
  }

  Status drain(std::vector<Unit>& stack, FrameId frame) {
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
  ASSIGN_OR_RETURN(FrameMap map, FrameMap::find(graph, &pruned));
  Builder b(graph, std::move(map));
  for (NodeId id : pruned.nodes()) b.add(id);
  RETURN_IF_ERROR(b.emit(kRootFrame));
  Frames frames;
  frames.order_ = std::move(b.order);
  return frames;
}

}  // namespace emplace
