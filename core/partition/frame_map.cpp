#include "core/partition/frame_map.h"

#include <map>
#include <string>
#include <utility>

#include "core/base/cat.h"

namespace emplace {
namespace {

constexpr size_t kMaxNesting = 200;  // loops in loops; more is no program that anybody wrote

}  // namespace

FrameMap::FrameMap(const Graph& graph, const Pruned* pruned)
    : graph_(&graph), pruned_(pruned), frame_of_(graph.num_nodes(), kRootFrame) {
  for (const NodeType& type : graph.types()) control_.push_back(type.traits->control);
}

class FrameMap::Finder {
 public:
  explicit Finder(FrameMap& map) : map_(map), graph_(*map.graph_), seen_(graph_.num_nodes(), 0) {}

  /// REQUIRES: its sources were visited, unless it is a Merge: as in TensorFlow, a Merge has its place in a file's
  /// order behind the first of its inputs, which may be a NextIteration.
  Status visit(NodeId id) {
    if (seen_[id]) return ok_status();
    if (map_.control(id) != Control::kMerge) return settle(id);
    for (open_.push_back(id); !open_.empty();) {
      const NodeId last = open_.back();
      const size_t before = open_.size();
      map_.for_each_source(last, [&](NodeId source) {
        if (!seen_[source]) open_.push_back(source);
      });
      if (open_.size() > before) continue;
      open_.pop_back();
      if (!seen_[last]) RETURN_IF_ERROR(settle(last));
    }
    return ok_status();
  }

 private:
  Status settle(NodeId id) {
    seen_[id] = 1;
    NodeId first = kNoNode, other = kNoNode;
    map_.for_each_source(id, [&](NodeId source) {
      if (first == kNoNode)
        first = source;
      else if (map_.of_outputs(source) != map_.of_outputs(first))
        other = source;
    });
    if (other != kNoNode) {
      return invalid_argument(cat("The node '", graph_.name(id), "' has inputs from different frames: '",
                                  graph_.name(first), "' and '", graph_.name(other), "'"));
    }
    const FrameId around = first == kNoNode ? kRootFrame : map_.of_outputs(first);
    map_.frame_of_[id] = around;
    if (map_.control(id) == Control::kEnter) {
      ASSIGN_OR_RETURN(map_.frame_of_[id], enter(id, around));
    }
    return ok_status();
  }

  Result<FrameId> enter(NodeId id, FrameId outer) {
    auto [it, is_new] =
        by_name_.try_emplace({outer, graph_.attrs(id).text("frame_name")}, static_cast<FrameId>(map_.frames_.size()));
    if (is_new) map_.frames_.push_back({outer, map_.frames_[outer].depth + 1});
    if (map_.frames_.back().depth > kMaxNesting) return invalid_argument("loops are nested too deeply");
    return it->second;
  }

  FrameMap& map_;
  const Graph& graph_;
  std::vector<char> seen_;    // by node
  std::vector<NodeId> open_;  // each a source of one before it
  std::map<std::pair<FrameId, std::string>, FrameId> by_name_;
};

Result<FrameMap> FrameMap::find(const Graph& graph, const Pruned* pruned, std::span<const NodeId> order) {
  FrameMap map(graph, pruned);
  Finder finder(map);
  if (pruned) order = pruned->nodes();
  if (!order.empty()) {
    for (NodeId id : order) RETURN_IF_ERROR(finder.visit(id));
  } else if (!pruned) {
    for (NodeId id = 0; id < graph.num_nodes(); ++id) RETURN_IF_ERROR(finder.visit(id));
  }
  return map;
}

}  // namespace emplace
