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
  explicit Finder(FrameMap& map) : map_(map), graph_(*map.graph_) {}

  Status visit(NodeId id) {
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

 private:
  Result<FrameId> enter(NodeId id, FrameId outer) {
    auto [it, is_new] =
        by_name_.try_emplace({outer, graph_.attrs(id).text("frame_name")}, static_cast<FrameId>(map_.frames_.size()));
    if (is_new) map_.frames_.push_back({outer, map_.frames_[outer].depth + 1});
    if (map_.frames_.back().depth > kMaxNesting) return invalid_argument("loops are nested too deeply");
    return it->second;
  }

  FrameMap& map_;
  const Graph& graph_;
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
