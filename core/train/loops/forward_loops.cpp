#include "core/train/loops/forward_loops.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/graph/node_order.h"

namespace emplace {
namespace {

// While a graph is edited, a node may read one with a larger id: so ids do not give the order.
std::vector<NodeId> in_order(const Graph& graph) {
  const NodeOrder found = tensorflow_order(graph, {});
  std::vector<NodeId> order(graph.num_nodes());
  for (NodeId id = 0; id < graph.num_nodes(); ++id) order[found.new_id.empty() ? id : found.new_id[id]] = id;
  return order;
}

}  // namespace

Result<ForwardLoops> ForwardLoops::find(const Graph& graph) {
  std::vector<NodeId> order = in_order(graph);
  ASSIGN_OR_RETURN(FrameMap frames, FrameMap::find(graph, nullptr, order));
  ForwardLoops loops(graph, std::move(frames), std::move(order));
  loops.describe_loops();
  loops.find_sides();
  return loops;
}

ForwardLoops::ForwardLoops(const Graph& graph, FrameMap frames, std::vector<NodeId> order)
    : graph_(&graph),
      frames_(std::move(frames)),
      order_(std::move(order)),
      loops_(frames_.size()),
      num_conds_(frames_.size()) {}

bool ForwardLoops::is_loop_switch(NodeId node) const {
  return frames_.control(node) == Control::kSwitch && graph_->traits(graph_->inputs(node)[1].node).loop_condition;
}

bool ForwardLoops::is_loop_merge(NodeId node) const {
  auto inputs = graph_->inputs(node);
  return frames_.control(node) == Control::kMerge && std::any_of(inputs.begin(), inputs.end(), [&](const Endpoint& e) {
           return frames_.control(e.node) == Control::kNextIteration;
         });
}

void ForwardLoops::describe_loops() {
  for (NodeId id : order_) {
    const FrameId frame = frames_.of(id);
    if (frame == kRootFrame) continue;
    ForwardLoop& loop = loops_[frame];
    if (frames_.control(id) == Control::kEnter && loop.frame_name.empty()) {
      loop.frame_name = graph_->attrs(id).text("frame_name");
      loop.parallel_iterations = graph_->attrs(id).integer("parallel_iterations");
      loop.outer = frames_.parent(frame);
    }
    if (frames_.control(id) == Control::kExit) loop.exits.push_back(id);
    if (is_loop_switch(id) && loop.body_value.node == kNoNode) loop.body_value = {id, 1};
    const OpTraits& op = graph_->traits(id);
    if (op.identity && loop.body_start == kNoNode && graph_->inputs(id)[0] == loop.body_value) loop.body_start = id;
    loop.pops_stacks |= op.gives_kept;
    if (!op.loop_condition) continue;
    loop.loop_cond = id;
    ++num_conds_[frame];
  }
}

Status ForwardLoops::check(FrameId frame) const {
  const ForwardLoop& loop = loops_[frame];
  if (num_conds_[frame] != 1) {
    return invalid_argument(cat("loop '", loop.frame_name, "' has ", num_conds_[frame],
                                " LoopCond nodes, and only with one of them it has gradients"));
  }
  if (loop.pops_stacks)
    return unimplemented(cat("second-order gradient: loop '", loop.frame_name, "' computes gradients itself"));
  if (loop.body_value.node == kNoNode)
    return invalid_argument(cat("loop '", loop.frame_name, "' has no Switch that its LoopCond '",
                                graph_->name(loop.loop_cond), "' tells what to do"));
  return ok_status();
}

CondId ForwardLoops::common(CondId a, CondId b) const {
  while (a != b) {
    CondId& deeper = sides_[a].depth >= sides_[b].depth ? a : b;
    deeper = sides_[deeper].outer;
  }
  return a;
}

CondId ForwardLoops::side_below(const CondSide& side) {
  auto [known, is_new] = known_sides_.try_emplace({side.outer, side.pred.node, side.pred.slot, side.branch},
                                                  static_cast<CondId>(sides_.size()));
  if (is_new) sides_.push_back(side);
  return known->second;
}

// A loop begins outside of all conditionals; what comes out of it is on the
// side where the loop is.
void ForwardLoops::find_sides() {
  side_of_.assign(graph_->num_nodes(), kNoCond);
  std::vector<CondId> around(loops_.size(), kNoCond);
  for (NodeId id : order_) {
    const Control control = frames_.control(id);
    const FrameId frame = frames_.of(id);
    if (frame == kRootFrame || control == Control::kTrigger) continue;
    auto inputs = graph_->inputs(id);
    if (control == Control::kEnter) around[frame] = deepest(around[frame], side_of(inputs[0]));
    if (control == Control::kExit) side_of_[id] = around[frame];
    if (control == Control::kEnter || control == Control::kExit) continue;
    CondId side = kNoCond;
    if (control == Control::kMerge) {
      if (!is_loop_merge(id)) side = side_of(inputs[0]);
      for (const Endpoint& e : inputs) side = common(side, side_of(e));
    } else {
      for (const Endpoint& e : inputs) side = deepest(side, side_of(e));
      for (const Endpoint& e : graph_->controls(id)) side = deepest(side, side_of_[e.node]);
    }
    side_of_[id] = side;
    if (control != Control::kSwitch || is_loop_switch(id)) continue;
    std::vector<CondId>& of_outputs = sides_of_switch_[id];
    const auto branches = static_cast<uint32_t>(graph_->num_outputs(id));
    const uint32_t numbered = graph_->output_type(inputs[1]) == DType::kBool ? 0 : branches;
    for (uint32_t branch = 0; branch < branches; ++branch)
      of_outputs.push_back(side_below({side, inputs[1], branch, numbered, sides_[side].depth + 1}));
  }
}

CondId ForwardLoops::side_of(Endpoint tensor) const {
  auto of_switch = sides_of_switch_.find(tensor.node);
  if (of_switch == sides_of_switch_.end()) return side_of_[tensor.node];
  return of_switch->second[tensor.slot];
}

}  // namespace emplace
