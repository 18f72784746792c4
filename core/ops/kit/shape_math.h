/// Arithmetic on partly known sizes and shapes for shape rules; each failure has TensorFlow's text
/// (tensorflow/core/framework/shape_inference.cc). A size of -1 is unknown.
#pragma once

#include <climits>

#include "core/op/shape_context.h"

namespace emplace {

Result<Shape> require_rank(const Shape& s, int64_t rank);
Result<Shape> require_rank_at_least(const Shape& s, int64_t rank);
Result<Shape> require_rank_at_most(const Shape& s, int64_t rank);
/// `dim`, which must be `value`.
Result<int64_t> require_dim(int64_t dim, int64_t value);

Result<int64_t> add_dims(int64_t a, int64_t b);
Result<int64_t> subtract_dims(int64_t a, int64_t b);
Result<int64_t> multiply_dims(int64_t a, int64_t b);
/// Fails if the known `dividend` is no multiple of `divisor`.
Result<int64_t> divide_dim_evenly(int64_t dividend, int64_t divisor);

/// Dimension `i` (negative: from the end) or -1 where the rank is unknown.
int64_t dim_or_unknown(const Shape& s, int64_t i);
/// Dimensions [begin, end) with Python's negative indices; unknown rank stays unknown (only [0, 0) is known then).
Result<Shape> subshape(const Shape& s, int64_t begin, int64_t end = LLONG_MAX);
Shape concat_shapes(const Shape& a, const Shape& b);
/// Product of the sizes, or -1 while one is unknown (0 if a known size is 0) or if it overflows.
int64_t elements_or_unknown(const Shape& s);

/// The known value of a scalar int32 or int64 input; nothing if it is not known.
Result<std::optional<int64_t>> scalar_value(const ShapeContext& c, int i);
/// Scalar input `i` as a size.
Result<int64_t> dim_from_scalar(const ShapeContext& c, int i);
/// Scalar input `i` as an axis of a tensor of that rank (-1: unknown), negative ones resolved; -1 if not known.
Result<int64_t> axis_from_scalar(const ShapeContext& c, int i, int rank);
/// Vector input `i` as a shape, checked.
Result<Shape> shape_from_input(const ShapeContext& c, int i);

/// The integer vector `t` as a complete shape, as kernels read it.
Result<Shape> shape_of_values(const Tensor& t);

}  // namespace emplace
