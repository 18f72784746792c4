/// ForwardLoops: loops and conditionals of a graph as TensorFlow's Python knows them while it builds one (WhileContext,
/// CondContext of python/ops/control_flow_ops.py), found again from Enter, Switch and their kin. Only Python can tell;
/// a GraphDef does not.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/partition/frame_map.h"

namespace emplace {

/// One side of a conditional: what runs only if `pred` is true (`branch` 1) or false (0), or is the number of the
/// branch.
using CondId = uint32_t;
inline constexpr CondId kNoCond = 0;

struct CondSide {
  CondId outer = kNoCond;
  Endpoint pred;
  uint32_t branch = 0;
  uint32_t numbered = 0;  // branches, where `pred` is a number; then the Switch is a _SwitchN
  uint32_t depth = 0;
};

struct ForwardLoop {
  std::string frame_name;
  int64_t parallel_iterations = 1;
  FrameId outer = kRootFrame;
  NodeId loop_cond = kNoNode;
  NodeId body_start =
      kNoNode;          // runs once in each iteration that the condition lets begin; kNoNode: there is no such Identity
  Endpoint body_value;  // what it reads, or would read
  std::vector<NodeId> exits;  // ascending
  bool pops_stacks = false;   // a loop of gradients, most likely
};

class ForwardLoops {
 public:
  /// InvalidArgument: a node with inputs of different frames.
  static Result<ForwardLoops> find(const Graph& graph);

  /// The loop that a node belongs to; of an Exit, the loop itself. kRootFrame: none.
  FrameId of(NodeId node) const { return frames_.of(node); }
  FrameId of_output(NodeId node) const { return frames_.of_outputs(node); }
  /// Of a tensor inside a loop: the side of a conditional that it belongs to.
  CondId side_of(Endpoint tensor) const;
  const CondSide& side(CondId id) const { return sides_[id]; }
  const ForwardLoop& loop(FrameId frame) const { return loops_[frame]; }
  /// All nodes, inputs first (but for back edges).
  const std::vector<NodeId>& order() const { return order_; }
  /// InvalidArgument if the loop has no condition or more than one, or nobody reads what the condition lets in.
  Status check(FrameId frame) const;
  /// Passes on, or ends, a variable of a loop.
  bool is_loop_switch(NodeId node) const;
  bool is_loop_merge(NodeId node) const;

 private:
  ForwardLoops(const Graph& graph, FrameMap frames, std::vector<NodeId> order);
  void describe_loops();
  void find_sides();
  CondId deepest(CondId a, CondId b) const { return sides_[a].depth >= sides_[b].depth ? a : b; }
  CondId common(CondId a, CondId b) const;
  CondId side_below(const CondSide& side);

  const Graph* graph_;
  FrameMap frames_;
  std::vector<NodeId> order_;
  std::vector<ForwardLoop> loops_;   // by frame
  std::vector<uint32_t> num_conds_;  // by frame
  std::vector<CondSide> sides_{CondSide{}};
  std::map<std::tuple<CondId, NodeId, uint32_t, uint32_t>, CondId> known_sides_;
  std::vector<CondId> side_of_;                            // by node: where it runs
  std::map<NodeId, std::vector<CondId>> sides_of_switch_;  // of a conditional: of its outputs
};

}  // namespace emplace
