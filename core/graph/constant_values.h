/// ConstantValues: what can be known before a run about the values of tensors: constants, what follows from
/// constants, and integer vectors of which only some entries are known (the shape of a tensor with an open batch).
/// As TensorFlow's ShapeRefiner, only ever for the sake of shapes.
#pragma once

#include <unordered_map>

#include "core/graph/graph.h"

namespace emplace {

/// A tensor as the key of a hash table.
constexpr uint64_t key_of(Endpoint e) { return uint64_t{e.node} << 32 | e.slot; }

class ConstantValues {
 public:
  /// Reads the types and those shapes that are inferred already.
  explicit ConstantValues(const Graph& graph) : graph_(graph) {}

  /// Null if the value is not known. Valid until this object goes.
  const Tensor* value(Endpoint e);
  /// The integer vector as a shape; see ShapeContext::input_as_shape.
  Shape as_shape(Endpoint e);

 private:
  // Chains of nodes in a file may be any length, the stack is not.
  static constexpr int kMaxDepth = 200;

  bool has_type(Endpoint e) const { return graph_.node(e.node).type < graph_.types().size(); }
  const Shape& shape_of(Endpoint e) const {
    return graph_.shapes_[has_type(e) ? graph_.output_shapes_[graph_.node(e.node).first_output + e.slot] : 0];
  }
  const Tensor* value_at(Endpoint e, int depth);
  Tensor compute(Endpoint e, int depth);
  Tensor from_shapes(Endpoint e, int depth);
  Tensor run_kernel(Endpoint e, int depth);
  Shape as_shape_at(Endpoint e, int depth);
  Shape partial_shape(Endpoint e, int depth);
  Shape pack_as_shape(NodeId node, int depth);
  Shape concat_as_shape(std::span<const Endpoint> parts, int depth);
  Tensor whole_slice(Endpoint e, int depth);
  Shape slice_as_shape(NodeId node, int depth);
  int64_t scalar(Endpoint e, int depth);

  const Graph& graph_;
  std::unordered_map<uint64_t, Tensor> values_;  // no dtype: known to be unknown
  std::unordered_map<uint64_t, Shape> shapes_;
  int64_t budget_ = int64_t{1} << 22;  // elements that may still be computed
};

}  // namespace emplace
