/// LiveTypes: types, shapes and known values of a graph while nodes are added to it.
#pragma once

#include <optional>

#include "core/graph/graph_file.h"
#include "core/graph/shape_pass.h"
#include "core/graph/type_pass.h"

namespace emplace {

class LiveTypes {
 public:
  /// Infers those of all nodes of `file` anew. REQUIRES: validate() found no problem in it.
  explicit LiveTypes(GraphFile& file);
  ~LiveTypes();

  /// Of a node that was added behind all others: what is wrong with it.
  Status add(NodeId node);

  // Also of kNoNode, of which nothing is known.
  DType type(Endpoint e) const;  // kInvalid: not known
  const Shape& shape(Endpoint e) const;
  /// Null if the value is not known before the run. Valid as long as this object.
  const Tensor* value(Endpoint e);

  /// The shape that an output has, where more is known than the ops tell.
  void set_shape(Endpoint e, const Shape& shape) { shapes_->set(e, shape); }
  /// The shapes of a node's outputs from those that its inputs have by now. False: they do not fit.
  bool infer_again(NodeId node) { return shapes_->again(node); }

 private:
  bool typed(Endpoint e) const;

  Graph& graph_;
  Problems type_problems_, shape_problems_, ignored_attrs_;
  TypePass types_;
  std::optional<ShapePass> shapes_;  // once the types are known
};

}  // namespace emplace
