#include "core/train/loops/loop_shapes.h"

#include <map>

namespace emplace {
namespace {

constexpr int kMaxRounds = 8;  // a variable may take its shape from another that has just been found to change

// A shape that both agree with: a dimension in which they differ is unknown.
Shape common_shape(const Shape& a, const Shape& b) {
  if (!a.rank_known() || !b.rank_known() || a.rank() != b.rank()) return Shape::unknown();
  Shape out = a;
  for (int d = 0; d < out.rank(); ++d) {
    if (a.dim(d) != b.dim(d)) out.dim(d) = -1;
  }
  return out;
}

bool is_enter(const Graph& g, NodeId id) { return g.traits(id).control == Control::kEnter; }

class LoopShapes {
 public:
  LoopShapes(GraphEditor& edit, const ForwardLoops& loops) : edit_(edit), graph_(edit.graph()), loops_(loops) {}

  void infer() {
    for (int round = 0; round < kMaxRounds; ++round) {
      const bool fits = propagate();
      if (fits && !relax()) return;
      if (!fits) break;
    }
    for (auto& [merge, shape] : guesses_) shape = Shape::unknown();
    propagate();
  }

 private:
  Shape entering(NodeId merge) const {
    for (const Endpoint& e : graph_.inputs(merge)) {
      if (is_enter(graph_, e.node)) return edit_.shape(graph_.inputs(e.node)[0]);
    }
    return Shape::unknown();
  }

  bool propagate() {
    bool fits = true;
    std::vector<bool> changed(graph_.num_nodes(), false);
    for (NodeId id : loops_.order()) {
      if (loops_.is_loop_merge(id)) {
        edit_.known().set_shape({id, 0}, guesses_.try_emplace(id, entering(id)).first->second);
        changed[id] = true;
        continue;
      }
      bool reads = false;
      for (const Endpoint& e : graph_.inputs(id)) reads |= changed[e.node];
      if (is_enter(graph_, id)) {
        edit_.known().set_shape({id, 0}, edit_.shape(graph_.inputs(id)[0]));
        changed[id] = true;
      } else if (reads) {
        fits &= edit_.known().infer_again(id);
        changed[id] = true;
      }
    }
    return fits;
  }

  // Less is known of variables whose value in the next iteration has another shape. False: there are none.
  bool relax() {
    bool any = false;
    for (auto& [merge, guess] : guesses_) {
      Shape less = common_shape(guess, entering(merge));
      for (const Endpoint& e : graph_.inputs(merge)) {
        if (!is_enter(graph_, e.node)) less = common_shape(less, edit_.shape(e));
      }
      any |= !(less == guess);
      guess = less;
    }
    return any;
  }

  GraphEditor& edit_;
  const Graph& graph_;
  const ForwardLoops& loops_;
  std::map<NodeId, Shape> guesses_;  // by Merge
};

}  // namespace

void infer_loop_shapes(GraphEditor& edit, const ForwardLoops& loops) { LoopShapes(edit, loops).infer(); }

}  // namespace emplace
