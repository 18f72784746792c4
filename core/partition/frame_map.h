/// FrameMap: which loop every node runs in; plays the part of TensorFlow's control flow analysis
/// (graph/control_flow.cc).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/partition/program.h"
#include "core/partition/prune.h"

namespace emplace {

using FrameId = uint32_t;
inline constexpr FrameId kRootFrame = 0;  // outside of all loops

class FrameMap {
 public:
  /// Of the nodes that a step runs, or of all (null). InvalidArgument: a node with inputs of different frames.
  /// `order`: all nodes, inputs first, where their ids do not say that (a graph that is being edited).
  static Result<FrameMap> find(const Graph& graph, const Pruned* pruned, std::span<const NodeId> order = {});

  /// The frame that a node belongs to: of an Enter and of an Exit, the loop itself.
  FrameId of(NodeId node) const { return frame_of_[node]; }
  FrameId of_inputs(NodeId node) const { return control(node) == Control::kEnter ? parent(of(node)) : of(node); }
  FrameId of_outputs(NodeId node) const { return control(node) == Control::kExit ? parent(of(node)) : of(node); }
  FrameId parent(FrameId f) const { return frames_[f].parent; }
  size_t depth(FrameId f) const { return frames_[f].depth; }
  size_t size() const { return frames_.size(); }
  Control control(NodeId node) const { return control_[graph_->node(node).type]; }

  /// Calls f(source) for every node that has to come before `node`: not over a loop's back edge, nor over what is fed.
  template <class F>
  void for_each_source(NodeId node, const F& f) const {
    for (const Endpoint& e : graph_->inputs(node)) {
      bool back = control(node) == Control::kMerge && control(e.node) == Control::kNextIteration;
      if (!back && (!pruned_ || pruned_->feed_of(e) < 0)) f(e.node);
    }
    for (const Endpoint& e : graph_->controls(node)) {
      if (!pruned_ || pruned_->orders(e.node)) f(e.node);
    }
  }

 private:
  struct Frame {
    FrameId parent = kRootFrame;
    size_t depth = 0;
  };
  class Finder;
  FrameMap(const Graph& graph, const Pruned* pruned);

  const Graph* graph_;
  const Pruned* pruned_;
  std::vector<Control> control_;   // by node type
  std::vector<FrameId> frame_of_;  // by node
  std::vector<Frame> frames_{Frame{}};
};

}  // namespace emplace
