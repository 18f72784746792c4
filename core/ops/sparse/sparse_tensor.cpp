#include "core/ops/sparse/sparse_tensor.h"

#include "core/base/cat.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {

Result<SparseTensor> SparseTensor::of(const KernelContext& c, int indices, int values, int shape) {
  const Shape &i = c.input(indices).shape(), &v = c.input(values).shape(), &s = c.input(shape).shape();
  if (i.rank() != 2)
    return invalid_argument(cat("Input indices should be a matrix but received shape ", i.to_string()));
  if (v.rank() != 1) return invalid_argument(cat("Input values should be a vector but received shape ", v.to_string()));
  if (s.rank() != 1) return invalid_argument(cat("Input shape should be a vector but received shape ", s.to_string()));
  if (i.dim(0) != v.dim(0)) {
    return invalid_argument(cat("Number of values must match first dimension of indices. Got ", v.dim(0),
                                " values, indices shape: ", i.to_string()));
  }
  if (i.dim(1) != s.dim(0)) {
    return invalid_argument(cat("Number of dimensions must match second dimension of indices. Got ", s.dim(0),
                                " dimensions, indices shape: ", i.to_string()));
  }
  SparseTensor t{c.in<int64_t>(indices), i.dim(0), i.dim(1), c.in<int64_t>(shape)};
  for (int64_t d = 0; d < t.rank; ++d) {
    if (t.sizes[d] < 0) return invalid_argument(cat("Dimension ", d, " of the shape is negative: ", t.sizes[d]));
  }
  return t;
}

Status SparseTensor::check_places() const {
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t d = 0; d < rank; ++d) {
      const int64_t at = place(i)[d];
      if (at < 0 || at >= sizes[d])
        return invalid_argument(
            cat("indices[", i, ",", d, "] = ", at, " is out of bounds: need 0 <= index < ", sizes[d]));
    }
  }
  return ok_status();
}

int SparseTensor::compare(int64_t i, const SparseTensor& other, int64_t k) const {
  const int64_t *a = place(i), *b = other.place(k);
  for (int64_t d = 0; d < rank; ++d) {
    if (a[d] != b[d]) return a[d] < b[d] ? -1 : 1;
  }
  return 0;
}

ScratchVector<int64_t> SparseTensor::order() const {
  ScratchVector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  std::sort(numbers.begin(), numbers.end(), [&](int64_t i, int64_t k) {
    const int order = compare(i, *this, k);
    return order != 0 ? order < 0 : i < k;  // std::stable_sort() would ask for heap memory
  });
  return numbers;
}

Result<int64_t> SparseTensor::num_elements() const {
  int64_t n = 1;
  for (int64_t d = 0; d < rank; ++d) {
    if (__builtin_mul_overflow(n, sizes[d], &n))
      return invalid_argument("the sizes' product is too large to be counted");
  }
  return n;
}

Status sparse_inputs(const ShapeContext& c, int indices, int values, int shape) {
  ASSIGN_OR_RETURN(const Shape i, c.with_rank(indices, 2));
  ASSIGN_OR_RETURN(const Shape v, c.with_rank(values, 1));
  ASSIGN_OR_RETURN(const Shape s, c.with_rank(shape, 1));
  RETURN_IF_ERROR(ShapeContext::merge_dim(dim_or_unknown(i, 0), dim_or_unknown(v, 0)).take_status());
  return ShapeContext::merge_dim(dim_or_unknown(i, 1), dim_or_unknown(s, 0)).take_status();
}

int64_t sparse_rank(const ShapeContext& c, int indices, int shape) {
  return std::max(dim_or_unknown(c.input(indices), 1), dim_or_unknown(c.input(shape), 0));
}

}  // namespace emplace
