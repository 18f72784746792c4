#include "core/ops/kit/shape_math.h"

#include <algorithm>

#include "core/base/cat.h"

namespace emplace {

Result<Shape> require_rank(const Shape& s, int64_t rank) {
  if (rank > kMaxRank) return invalid_argument(cat("Rank ", rank, " is larger than ", kMaxRank));
  if (!s.rank_known()) return Shape::unknown_dims(static_cast<int>(rank));
  if (s.rank() != rank) return invalid_argument(cat("Shape must be rank ", rank, " but is rank ", s.rank()));
  return s;
}

Result<Shape> require_rank_at_least(const Shape& s, int64_t rank) {
  if (s.rank_known() && s.rank() < rank) {
    return invalid_argument(cat("Shape must be at least rank ", rank, " but is rank ", s.rank()));
  }
  return s;
}

Result<Shape> require_rank_at_most(const Shape& s, int64_t rank) {
  if (s.rank_known() && s.rank() > rank) {
    return invalid_argument(cat("Shape must be at most rank ", rank, " but is rank ", s.rank()));
  }
  return s;
}

Result<int64_t> require_dim(int64_t dim, int64_t value) {
  if (dim >= 0 && dim != value) return invalid_argument(cat("Dimension must be ", value, " but is ", dim));
  return value;
}

Result<int64_t> add_dims(int64_t a, int64_t b) {
  if (a == 0) return b;
  if (b == 0) return a;
  if (a < 0 || b < 0) return int64_t{-1};
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) {
    return invalid_argument(cat("Dimension size overflow from adding ", a, " and ", b));
  }
  return sum;
}

Result<int64_t> subtract_dims(int64_t a, int64_t b) {
  if (b == 0) return a;
  if (a < 0 || b < 0) return int64_t{-1};
  if (a < b) return invalid_argument(cat("Negative dimension size caused by subtracting ", b, " from ", a));
  return a - b;
}

Result<int64_t> multiply_dims(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return int64_t{0};
  if (a == 1) return b;
  if (b == 1) return a;
  if (a < 0 || b < 0) return int64_t{-1};
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    return invalid_argument(cat("Negative dimension size caused by overflow when multiplying ", a, " and ", b));
  }
  return product;
}

Result<int64_t> divide_dim_evenly(int64_t dividend, int64_t divisor) {
  if (divisor == 1) return dividend;
  if (divisor <= 0) return invalid_argument(cat("Divisor must be positive but is ", divisor));
  if (dividend < 0) return int64_t{-1};
  if (dividend % divisor != 0) {
    return invalid_argument(cat("Dimension size must be evenly divisible by ", divisor, " but is ", dividend));
  }
  return dividend / divisor;
}

int64_t dim_or_unknown(const Shape& s, int64_t i) {
  if (!s.rank_known()) return -1;
  return s.dim(static_cast<int>(i < 0 ? i + s.rank() : i));
}

Result<Shape> subshape(const Shape& s, int64_t begin, int64_t end) {
  if (begin == 0 && end == 0) return Shape{};
  if (!s.rank_known()) return Shape::unknown();
  int64_t rank = s.rank();
  int64_t from = begin < 0 ? begin + rank : std::min(begin, rank);
  int64_t to = end < 0 ? end + rank : std::min(end, rank);
  if (from < 0 || to < 0 || begin > rank) {
    return invalid_argument(cat("Subshape must have a start inside the shape, but is ", begin, " for rank ", rank));
  }
  if (from > to) {
    return invalid_argument(cat("Subshape must have computed start <= end, but is ", from, " and ", to));
  }
  return Shape(s.dims().subspan(static_cast<size_t>(from), static_cast<size_t>(to - from)));
}

Shape concat_shapes(const Shape& a, const Shape& b) {
  if (!a.rank_known() || !b.rank_known()) return Shape::unknown();
  Shape out = a;
  for (int64_t d : b.dims()) out.add_dim(d);
  return out;
}

int64_t elements_or_unknown(const Shape& s) {
  if (!s.rank_known()) return -1;
  bool known = true;
  int64_t n = 1;
  for (int64_t d : s.dims()) {
    if (d == 0) return 0;
    if (d < 0 || __builtin_mul_overflow(n, d, &n)) known = false;
    if (!known) n = 1;
  }
  return known ? n : -1;
}

Result<std::optional<int64_t>> scalar_value(const ShapeContext& c, int i) {
  const Tensor* t = c.input_value(i);
  if (t == nullptr) return std::optional<int64_t>();
  if (t->shape().rank() != 0) return invalid_argument(cat("Input must be scalar but has rank ", t->shape().rank()));
  if (t->dtype() != DType::kInt32 && t->dtype() != DType::kInt64) {
    return invalid_argument("Scalar input must be int32 or int64.");
  }
  return std::optional<int64_t>(int_at(*t, 0));
}

Result<int64_t> dim_from_scalar(const ShapeContext& c, int i) {
  ASSIGN_OR_RETURN(auto value, scalar_value(c, i));
  if (!value) return int64_t{-1};
  if (*value < 0) {
    return invalid_argument(cat("Dimension size, given by scalar input ", i, ", must be non-negative but is ", *value));
  }
  return *value;
}

Result<int64_t> axis_from_scalar(const ShapeContext& c, int i, int rank) {
  ASSIGN_OR_RETURN(auto value, scalar_value(c, i));
  if (!value || (*value < 0 && rank < 0)) return int64_t{-1};
  if (rank >= 0 && (*value < -rank || *value >= rank)) {
    return invalid_argument(
        cat("Dimension size, given by scalar input ", *value, " must be in range [", -rank, ", ", rank, ")"));
  }
  return *value < 0 ? *value + rank : *value;
}

Result<Shape> shape_from_input(const ShapeContext& c, int i) {
  const Tensor* t = c.input_value(i);
  if (DType type = c.input_type(i); t != nullptr && type != DType::kInt32 && type != DType::kInt64) {
    return invalid_argument(cat("Input tensor must be int32 or int64, but was ", dtype_tf_name(type)));
  }
  if (t != nullptr && t->shape().rank() == 0) {
    if (int_at(*t, 0) == -1) return Shape::unknown();
    return invalid_argument(cat("Input tensor must be rank 1, or if its rank 0 it must have value -1 ",
                                "(representing an unknown shape). Saw value: ", int_at(*t, 0)));
  }
  ASSIGN_OR_RETURN(Shape vector, require_rank(c.input(i), 1));
  if (vector.dim(0) > kMaxRank) {
    return invalid_argument(cat("Shape has ", vector.dim(0), " dimensions, more than ", kMaxRank));
  }
  if (t != nullptr) {
    for (int64_t k = 0; k < t->num_elements(); ++k) {
      if (int_at(*t, k) < -1) return invalid_argument(cat("Invalid value in tensor used for shape: ", int_at(*t, k)));
    }
  }
  return c.input_as_shape(i);
}

Result<Shape> shape_of_values(const Tensor& t) {
  if (t.shape().rank() != 1) {
    return invalid_argument(cat("shape must be a vector of {int32,int64}, got shape ", t.shape().to_string()));
  }
  if (t.num_elements() > kMaxRank) {
    return invalid_argument(cat("Shape has ", t.num_elements(), " dimensions, more than ", kMaxRank));
  }
  Shape shape;
  for (int64_t i = 0; i < t.num_elements(); ++i) {
    const int64_t v = int_at(t, i);
    if (v < 0) return invalid_argument(cat("Dimension ", v, " must be >= 0"));
    shape.add_dim(v);
  }
  if (!shape.checked_num_elements()) {
    return invalid_argument(cat("Shape ", shape.to_string(), " results in overflow when computing number of elements"));
  }
  return shape;
}

}  // namespace emplace
