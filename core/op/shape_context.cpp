#include "core/op/shape_context.h"

#include <algorithm>

#include "core/base/cat.h"

namespace emplace {

Result<Shape> ShapeContext::with_rank(int i, int rank) const {
  const Shape& s = input(i);
  if (!s.rank_known()) return Shape::unknown_dims(rank);
  if (s.rank() != rank) return invalid_argument(cat("Shape must be rank ", rank, " but is rank ", s.rank()));
  return s;
}

Result<Shape> ShapeContext::with_rank_at_least(int i, int rank) const {
  const Shape& s = input(i);
  if (s.rank_known() && s.rank() < rank) {
    return invalid_argument(cat("Shape must be at least rank ", rank, " but is rank ", s.rank()));
  }
  return s;
}

Result<int64_t> ShapeContext::merge_dim(int64_t a, int64_t b) {
  if (a < 0) return b;
  if (b >= 0 && a != b) return invalid_argument(cat("Dimensions must be equal, but are ", a, " and ", b));
  return a;
}

Result<Shape> ShapeContext::merge(const Shape& a, const Shape& b) {
  if (!a.rank_known()) return b;
  if (!b.rank_known()) return a;
  if (a.rank() != b.rank()) {
    return invalid_argument(cat("Shapes must be equal rank, but are ", a.rank(), " and ", b.rank()));
  }
  Shape merged = a;
  for (int i = 0; i < a.rank(); ++i) {
    auto dim = merge_dim(a.dim(i), b.dim(i));
    if (!dim.ok()) {
      return invalid_argument(cat("Dimension ", i, " in both shapes must be equal, but are ", a.dim(i), " and ",
                                  b.dim(i), ". Shapes are ", a.to_string(), " and ", b.to_string(), "."));
    }
    merged.dim(i) = *dim;
  }
  return merged;
}

Shape values_as_shape(const Tensor& t) {
  bool is_integer_vector = t.shape().rank() == 1 && (t.dtype() == DType::kInt32 || t.dtype() == DType::kInt64);
  if (!is_integer_vector || t.num_elements() > kMaxRank) return Shape::unknown();
  Shape shape;
  for (int64_t i = 0; i < t.num_elements(); ++i) shape.add_dim(std::max<int64_t>(int_at(t, i), -1));
  return shape;
}

Status shape_unchanged(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, c.input(0));
  return ok_status();
}

Status shape_scalar(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, Shape{});
  return ok_status();
}

Status shape_unknown(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, Shape::unknown());
  return ok_status();
}

Status shape_none(ShapeContext&) { return ok_status(); }

Status shape_broadcast(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape out, broadcast_shapes(c.input(0), c.input(1)));
  c.set_output(0, std::move(out));
  return ok_status();
}

Result<Shape> broadcast_shapes(const Shape& a, const Shape& b) {
  if (!a.rank_known() || !b.rank_known()) return Shape::unknown();
  int rank = std::max(a.rank(), b.rank());
  Shape out = Shape::unknown_dims(rank);
  for (int i = 1; i <= rank; ++i) {
    int64_t x = i <= a.rank() ? a.dim_from_end(i) : 1;
    int64_t y = i <= b.rank() ? b.dim_from_end(i) : 1;
    int64_t& dim = out.dim(rank - i);
    if (x < 0 || y < 0) {
      // Whatever exceeds 1 decides; beside a 1 an unknown size stays unknown.
      dim = std::max(x, y) > 1 ? std::max(x, y) : -1;
    } else if (x == 1 || y == 1) {
      dim = x == 1 ? y : x;
    } else {
      ASSIGN_OR_RETURN(dim, ShapeContext::merge_dim(x, y));
    }
  }
  return out;
}

}  // namespace emplace
