// CholeskyGrad: what comes back to a matrix whose Cholesky factor is known (Murray, "Differentiation of the Cholesky
// decomposition", 2016).
#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/op_def.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/linear/dense_solver.h"

namespace emplace {
namespace {

Status cholesky_grad_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape s, c.with_rank_at_least(0, 2));
  ASSIGN_OR_RETURN(const int64_t n, ShapeContext::merge_dim(dim_or_unknown(s, -2), dim_or_unknown(s, -1)));
  ASSIGN_OR_RETURN(const Shape batch, subshape(s, 0, -2));
  if (batch.rank_known()) c.set_output(0, concat_shapes(batch, Shape{n, n}));
  return ok_status();
}

/// Of the lower triangles alone; the result is symmetric.
template <class T>
void differentiate(const T* l, const T* grad, T* out, int64_t n) {
  ScratchVector<double> a(static_cast<size_t>(n * n), 0.0);
  const auto at = [n](int64_t i, int64_t j) { return static_cast<size_t>(i * n + j); };
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) a[at(i, j)] = static_cast<double>(grad[at(i, j)]);
  }
  const auto factor = [&](int64_t i, int64_t j) { return static_cast<double>(l[at(i, j)]); };
  for (int64_t k = n - 1; k >= 0; --k) {
    for (int64_t i = k + 1; i < n; ++i) a[at(k, k)] -= factor(i, k) * a[at(i, k)] / factor(k, k);
    for (int64_t i = k; i < n; ++i) a[at(i, k)] /= factor(k, k);
    for (int64_t i = k; i < n; ++i) {
      for (int64_t j = 0; j < k; ++j) a[at(k, j)] -= a[at(i, k)] * factor(i, j);
    }
    for (int64_t i = k + 1; i < n; ++i) {
      for (int64_t j = 0; j < k; ++j) a[at(i, j)] -= a[at(i, k)] * factor(k, j);
    }
    a[at(k, k)] /= 2;
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j)
      out[at(i, j)] = out[at(j, i)] = static_cast<T>(i == j ? a[at(i, i)] : a[at(i, j)] / 2);
  }
}

template <class T>
Status cholesky_grad_cpu(KernelContext& c) {
  const Shape& s = c.input(0).shape();
  if (s != c.input(1).shape())
    return invalid_argument(cat("Inputs (L and grad) must have the same shape, found ", s.to_string(), " and ",
                                c.input(1).shape().to_string()));
  const int64_t n = s.dim_from_end(1);
  c.parallel_for(dense::num_matrices(s), static_cast<double>(n * n * n) + 10, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin * n * n; at < end * n * n; at += n * n)
      differentiate(c.in<T>(0) + at, c.in<T>(1) + at, c.out<T>(0) + at, n);
  });
  return ok_status();
}

}  // namespace

OpDef cholesky_grad_op() {
  return OpDef("CholeskyGrad")
      .doc("What comes back to each symmetric matrix, from its lower Cholesky factor and what came to that.")
      .shape(cholesky_grad_shape)
      .cpu<float>(stateless<cholesky_grad_cpu<float>>)
      .cpu<double>(stateless<cholesky_grad_cpu<double>>);
}

}  // namespace emplace
