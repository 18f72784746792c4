#include "core/train/needed_nodes.h"

#include <algorithm>
#include <vector>

namespace emplace {
namespace {

class NeededNodes {
 public:
  NeededNodes(const GraphEditor& edit, NodeId num_forward, const LoopPlaces* loops)
      : edit_(edit),
        graph_(edit.graph()),
        num_forward_(num_forward),
        loops_(loops),
        needed_(graph_.num_nodes(), false) {}

  bool contains(NodeId id) const { return needed_[id]; }

  void add(NodeId id) {
    need(id);
    while (!open_.empty()) {
      const NodeId next = open_.back();
      open_.pop_back();
      for (const Endpoint& e : graph_.inputs(next)) need(e.node);
      for (const Endpoint& e : graph_.controls(next)) {
        if (!loops_ || !loops_->only_orders(e.node)) need(e.node);
      }
      if (loops_) need(loops_->push_of(next));
    }
  }

  // Triggers of which some source is needed.
  void add_triggers() {
    for (NodeId trigger : loops_->triggers()) {
      auto sources = graph_.controls(trigger);
      if (std::any_of(sources.begin(), sources.end(), [&](const Endpoint& e) { return needed_[e.node]; })) add(trigger);
    }
  }

 private:
  void need(NodeId id) {
    if (id == kNoNode || needed_[id] || (id < num_forward_ && !edit_.is_removed(id))) return;
    needed_[id] = true;
    open_.push_back(id);
  }

  const GraphEditor& edit_;
  const Graph& graph_;
  const NodeId num_forward_;
  const LoopPlaces* loops_;
  std::vector<bool> needed_;
  std::vector<NodeId> open_;
};

}  // namespace

void drop_unneeded(GraphEditor& edit, NodeId num_forward, std::span<const NodeId> results, const LoopPlaces* loops) {
  NeededNodes needed(edit, num_forward, loops);
  for (NodeId id : results) needed.add(id);
  if (loops) needed.add_triggers();
  for (NodeId id = num_forward; id < edit.graph().num_nodes(); ++id) {
    if (!needed.contains(id)) edit.remove(id);
  }
  for (NodeId id = 0; id < num_forward; ++id) {
    if (needed.contains(id)) edit.restore(id);
  }
}

}  // namespace emplace
