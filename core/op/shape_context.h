/// ShapeContext: what an op's shape rule sees. The same rule serves before a run (shapes and values partly known)
/// and in it (everything known), so it must never guess: what is not known stays unknown.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/shape.h"
#include "core/base/status.h"
#include "core/op/attr_value.h"

namespace emplace {

/// What stands behind a resource: the element type and shape of the variable.
struct HandleInfo {
  DType dtype = DType::kInvalid;
  Shape shape = Shape::unknown();
};

class ShapeContext {
 public:
  virtual ~ShapeContext() = default;

  virtual int num_inputs() const = 0;
  virtual const Shape& input(int i) const = 0;
  virtual DType input_type(int i) const = 0;
  /// The input's value if it is known now (a constant, or any value in a run), else null.
  virtual const Tensor* input_value(int i) const = 0;
  /// The integer vector `i` read as a shape; entries that are not known are -1, and so is an entry of -1.
  /// Unknown rank if not even its length is known. Knows more than input_value: Pack([Shape(x)[0], 10]) is [?,10].
  virtual Shape input_as_shape(int i) const = 0;
  virtual const Attrs& attrs() const = 0;
  virtual int num_outputs() const = 0;
  virtual DType output_type(int i) const = 0;

  /// Outputs that are not set stay unknown.
  virtual void set_output(int i, Shape shape) = 0;

  /// Behind a resource input: null if nobody said.
  virtual const HandleInfo* input_handle(int) const { return nullptr; }
  virtual void set_output_handle(int, HandleInfo) {}

  // Helpers, all in terms of the above (core/op/shape_context.cpp). Each fails with TensorFlow's text.

  /// "Shape must be rank 2 but is rank 3": the input's shape, with `rank` dimensions (all unknown if the rank is).
  Result<Shape> with_rank(int i, int rank) const;
  Result<Shape> with_rank_at_least(int i, int rank) const;
  /// "Dimensions must be equal, but are 2 and 3"; the more definite of the two.
  static Result<int64_t> merge_dim(int64_t a, int64_t b);
  static Result<Shape> merge(const Shape& a, const Shape& b);
};

/// The entries of an integer vector as sizes, -1 for whatever is negative. Unknown rank for a tensor that is
/// no integer vector, and for one with more entries than a shape can have.
Shape values_as_shape(const Tensor& t);

using ShapeRule = Status (*)(ShapeContext&);

// Rules that many ops share.
Status shape_unchanged(ShapeContext& c);  ///< every output: the shape of input 0
Status shape_scalar(ShapeContext& c);     ///< every output: []
Status shape_unknown(ShapeContext& c);    ///< nothing is known before the run
Status shape_none(ShapeContext& c);       ///< no outputs
Status shape_broadcast(ShapeContext& c);  ///< output 0: inputs 0 and 1 broadcast

/// NumPy broadcasting of two (partly known) shapes; TensorFlow's BroadcastBinaryOpOutputShapeFn.
Result<Shape> broadcast_shapes(const Shape& a, const Shape& b);

}  // namespace emplace
