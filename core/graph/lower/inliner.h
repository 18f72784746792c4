/// Inliner: a call becomes the nodes of the function's body, between an Identity for each argument and one for each
/// result (inline_function_utils.cc).
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "core/graph/lower/growing_graph.h"

namespace emplace {

class Inliner {
 public:
  /// All must outlive it.
  Inliner(GrowingGraph& grown, const LowerOptions& options, Bodies& bodies)
      : grown_(grown), graph_(grown.graph), options_(options), bodies_(bodies) {}

  /// The body that the call is to be replaced by; null: the call stays.
  Result<const Body*> body_to_inline(NodeId node, FunctionalOp kind);
  Status inline_call(NodeId node, FunctionalOp kind, const Body& body);

 private:
  struct Inlining;
  bool is_multi_device(NodeId node, FunctionalOp kind) const;
  /// TensorFlow's function optimizer would not inline that call.
  bool keeps_side_effects(NodeId node, FunctionalOp kind, const Body& body) const;
  Status check_growth(const FunctionalSite& site, const Body& body);
  std::vector<NodeId> effects_of_staying(NodeId node, FunctionalOp kind, const Inlining& in) const;
  void copy_body(const FunctionalSite& site, Inlining& in);
  uint32_t body_attrs(const FunctionalSite& site, const Inlining& in, const Body::Item& item);
  uint32_t merged_device(uint32_t own, uint32_t callers);

  GrowingGraph& grown_;
  Graph& graph_;
  const LowerOptions& options_;
  Bodies& bodies_;
  std::unordered_map<uint64_t, uint32_t> merged_devices_;
  std::deque<FuncValue> native_calls_;
  std::vector<NodeId> later_;  // control sources of a body that are copied after what waits for them
};

}  // namespace emplace
