// MatrixSolveLs: least squares, by normal equations (Cholesky) or by singular values. BandedTriangularSolve.
#include <algorithm>
#include <atomic>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/linear/decompositions.h"

namespace emplace {
namespace {

using dense::Matrix;
using dense::Wide;

Status least_squares_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape a, c.with_rank_at_least(0, 2));
  ASSIGN_OR_RETURN(const Shape b, c.with_rank_at_least(1, 2));
  RETURN_IF_ERROR(c.with_rank(2, 0).take_status());
  ASSIGN_OR_RETURN(const Shape a_batch, subshape(a, 0, -2));
  ASSIGN_OR_RETURN(const Shape b_batch, subshape(b, 0, -2));
  ASSIGN_OR_RETURN(const Shape batch, ShapeContext::merge(a_batch, b_batch));
  RETURN_IF_ERROR(ShapeContext::merge_dim(dim_or_unknown(a, -2), dim_or_unknown(b, -2)).take_status());
  if (batch.rank_known()) c.set_output(0, concat_shapes(batch, Shape{dim_or_unknown(a, -1), dim_or_unknown(b, -1)}));
  return ok_status();
}

/// Rows x columns numbers, row after row.
template <class W>
struct Rows {
  int64_t rows, columns;
  Matrix<W> numbers;

  Rows(int64_t r, int64_t c) : rows(r), columns(c), numbers(static_cast<size_t>(r * c)) {}
  W& at(int64_t i, int64_t j) { return numbers[static_cast<size_t>(i * columns + j)]; }
  const W& at(int64_t i, int64_t j) const { return numbers[static_cast<size_t>(i * columns + j)]; }
};

/// a^H b
template <class W>
Rows<W> adjoint_times(const Rows<W>& a, const Rows<W>& b) {
  Rows<W> out(a.columns, b.columns);
  for (int64_t k = 0; k < a.rows; ++k) {
    for (int64_t i = 0; i < a.columns; ++i) {
      for (int64_t j = 0; j < b.columns; ++j) out.at(i, j) += dense::conjugate(a.at(k, i)) * b.at(k, j);
    }
  }
  return out;
}
template <class W>
Rows<W> adjoint_of(const Rows<W>& a) {
  Rows<W> out(a.columns, a.rows);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < a.columns; ++j) out.at(j, i) = dense::conjugate(a.at(i, j));
  }
  return out;
}

/// (a^H a + l2)^-1 b, in place of b. False: it is not positive definite.
template <class W>
bool solve_normal(const Rows<W>& a, double l2, Rows<W>& b) {
  Rows<W> gram = adjoint_times(a, a);
  const int64_t n = a.columns;
  for (int64_t i = 0; i < n; ++i) gram.at(i, i) += W(l2);
  dense::factor_cholesky(gram.numbers.data(), n);
  if (n > 0 && !(std::real(gram.at(n - 1, n - 1)) > 0)) return false;
  dense::solve_triangle(gram.numbers.data(), n, b.numbers.data(), b.columns, {true, false, false});
  dense::solve_triangle(gram.numbers.data(), n, b.numbers.data(), b.columns, {true, false, true});
  return true;
}

/// By the normal equations of whichever kind is smaller.
template <class W>
bool solve_fast(const Rows<W>& a, const Rows<W>& b, double l2, Rows<W>& x) {
  if (a.rows >= a.columns) {
    x = adjoint_times(a, b);
    return solve_normal(a, l2, x);
  }
  Rows<W> y = b;
  if (!solve_normal(adjoint_of(a), l2, y)) return false;
  x = adjoint_times(a, y);
  return true;
}

/// The shortest x whose a x is nearest to b; singular values below epsilon (of the element type) count as none.
template <class W>
void solve_by_singular_values(const Rows<W>& a, const Rows<W>& b, double epsilon, Rows<W>& x) {
  const bool tall = a.rows >= a.columns;
  Rows<W> u = tall ? a : adjoint_of(a);
  const int64_t n = u.columns;
  Rows<W> v(n, n);
  v.numbers = dense::identity<W>(n);
  dense::rotate_columns(u.numbers, v.numbers, u.rows, n);
  Matrix<double> squares(static_cast<size_t>(n));
  double largest = 0;
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < u.rows; ++i) squares[static_cast<size_t>(j)] += std::norm(u.at(i, j));
    largest = std::max(largest, squares[static_cast<size_t>(j)]);
  }
  const double least = epsilon * epsilon * static_cast<double>(n * n) * largest;
  // u = left s: what was decomposed is left s v^H, so its pseudoinverse is v s^-2 u^H.
  Rows<W> middle = adjoint_times(tall ? u : v, b);
  for (int64_t j = 0; j < n; ++j) {
    const double square = squares[static_cast<size_t>(j)];
    for (int64_t k = 0; k < b.columns; ++k) middle.at(j, k) = square > least ? middle.at(j, k) / square : W(0);
  }
  x = adjoint_times(adjoint_of(tall ? v : u), middle);
}

template <class T>
class MatrixSolveLs final : public Kernel {
 public:
  explicit MatrixSolveLs(const KernelInit& init) : fast_(init.attrs.flag("fast")) {}

  Status run(KernelContext& c) override {
    if (c.input(2).shape().rank() != 0)
      return invalid_argument(cat("l2_regularizer must be scalar, got shape ", c.input(2).shape().to_string()));
    const double l2 = *c.in<double>(2);
    if (!(l2 >= 0)) return invalid_argument(cat("l2_regularizer must be >= 0, is ", l2));
    const Shape &a = c.input(0).shape(), &out = c.output(0).shape();
    const int64_t m = a.dim_from_end(2), n = a.dim_from_end(1), k = out.dim_from_end(1);
    if (out.num_elements() == 0) return ok_status();
    std::atomic<bool> good{true};
    const double cost = static_cast<double>(m * n * (std::min(m, n) + k)) * (fast_ ? 2 : 40) + 100;
    c.parallel_for(dense::num_matrices(a), cost, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) {
        if (!solve(c.in<T>(0) + at * m * n, c.in<T>(1) + at * m * k, m, n, k, l2, c.out<T>(0) + at * n * k))
          good = false;
      }
    });
    return good ? ok_status()
                : invalid_argument(
                      "Input matrix was rank deficient or ill-conditioned. Try setting fast=False or provide a larger "
                      "l2_regularizer > 0.");
  }

 private:
  bool solve(const T* matrix, const T* rhs, int64_t m, int64_t n, int64_t k, double l2, T* out) const {
    using W = Wide<T>;
    Rows<W> a(m, n), b(m, k), x(n, k);
    std::copy_n(matrix, m * n, a.numbers.begin());
    std::copy_n(rhs, m * k, b.numbers.begin());
    if (m > 0 && fast_ && !solve_fast(a, b, l2, x)) return false;
    constexpr double kEpsilon = static_cast<double>(std::numeric_limits<dense::Real<T>>::epsilon());
    if (m > 0 && !fast_) solve_by_singular_values(a, b, kEpsilon, x);
    for (int64_t i = 0; i < n * k; ++i) out[i] = static_cast<T>(x.numbers[static_cast<size_t>(i)]);
    return true;
  }

  const bool fast_;
};

// --- triangles of which only a few diagonals are there

/// Refused where TensorFlow refuses: it broadcasts the batches, but takes nothing that is empty.
Status banded_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape a, c.with_rank_at_least(0, 2));
  ASSIGN_OR_RETURN(const Shape b, c.with_rank_at_least(1, 2));
  ASSIGN_OR_RETURN(const Shape a_batch, subshape(a, 0, -2));
  ASSIGN_OR_RETURN(const Shape b_batch, subshape(b, 0, -2));
  ASSIGN_OR_RETURN(const Shape batch, broadcast_shapes(a_batch, b_batch));
  ASSIGN_OR_RETURN(const int64_t rows, ShapeContext::merge_dim(dim_or_unknown(a, -1), dim_or_unknown(b, -2)));
  if (const int64_t bands = dim_or_unknown(a, -2); rows >= 0 && bands > rows)
    return invalid_argument(cat("Number of bands ", bands, " cannot exceed the size of the matrix ", rows));
  if (batch.rank_known()) c.set_output(0, concat_shapes(batch, Shape{rows, dim_or_unknown(b, -1)}));
  return ok_status();
}

/// Which of the matrices of `in` belongs to matrix `at` of `out`, over whose batches it is spread.
int64_t banded_matrix(int64_t at, const Shape& out, const Shape& in) {
  int64_t number = 0, stride = 1;
  for (int d = 3; d <= in.rank(); ++d) {
    const int64_t place = at % out.dim_from_end(d);
    at /= out.dim_from_end(d);
    if (in.dim_from_end(d) != 1) number += place * stride;
    stride *= in.dim_from_end(d);
  }
  return number;
}

/// The triangle: `bands` rows of n, the diagonal first (lower) or last (upper); bands beside it end at its corner.
template <class T>
struct Bands {
  const T* numbers;
  int64_t bands, n;
  bool lower;

  const T& diagonal(int64_t i) const { return numbers[(lower ? 0 : bands - 1) * n + i]; }
  /// Row i, `k` places beside the diagonal.
  const T& beside(int64_t i, int64_t k) const { return numbers[(lower ? k : bands - 1 - k) * n + i]; }
  bool invertible() const {
    for (int64_t i = 0; i < n; ++i) {
      if (!(std::abs(diagonal(i)) > dense::Real<T>(0))) return false;
    }
    return true;
  }

  void solve(T* x, int64_t columns, bool adjoint) const {
    const bool forward = lower != adjoint;
    for (int64_t step = 0; step < n; ++step) {
      const int64_t i = forward ? step : n - 1 - step;
      for (int64_t k = 1; k < bands; ++k) {
        const int64_t j = forward ? i - k : i + k;
        if (j < 0 || j >= n) break;
        const T factor = adjoint ? dense::conjugate(beside(j, k)) : beside(i, k);
        for (int64_t q = 0; q < columns; ++q) x[i * columns + q] -= factor * x[j * columns + q];
      }
      const T pivot = adjoint ? dense::conjugate(diagonal(i)) : diagonal(i);
      for (int64_t q = 0; q < columns; ++q) x[i * columns + q] /= pivot;
    }
  }
};

template <class T>
class BandedTriangularSolve final : public Kernel {
 public:
  explicit BandedTriangularSolve(const KernelInit& init)
      : lower_(init.attrs.flag("lower")), adjoint_(init.attrs.flag("adjoint")) {}

  Status run(KernelContext& c) override {
    const Shape &a = c.input(0).shape(), &b = c.input(1).shape(), &out = c.output(0).shape();
    for (int i : {0, 1}) {
      if (c.input(i).num_elements() == 0)
        return invalid_argument(cat("In[", i, "] must not be an empty tensor, is ", c.input(i).shape().to_string()));
    }
    const int64_t bands = a.dim_from_end(2), n = a.dim_from_end(1), columns = b.dim_from_end(1);
    std::atomic<bool> good{true};
    c.parallel_for(dense::num_matrices(out), static_cast<double>(bands * n * columns) + 50,
                   [&](int64_t begin, int64_t end) {
                     for (int64_t at = begin; at < end; ++at) {
                       const Bands<T> matrix{c.in<T>(0) + banded_matrix(at, out, a) * bands * n, bands, n, lower_};
                       T* x = c.out<T>(0) + at * n * columns;
                       std::copy_n(c.in<T>(1) + banded_matrix(at, out, b) * n * columns, n * columns, x);
                       if (matrix.invertible())
                         matrix.solve(x, columns, adjoint_);
                       else
                         good = false;
                     }
                   });
    return good ? ok_status() : invalid_argument("Input matrix is not invertible.");
  }

 private:
  const bool lower_, adjoint_;
};

// --- gradients: TensorFlow's, python/ops/linalg_grad.py

Value product_of_matrices(GradientContext& g, Value a, Value b, bool adjoint_a, bool adjoint_b) {
  const bool complex = g.type(a) == DType::kComplex64 || g.type(a) == DType::kComplex128;
  if (g.shape(a).rank_known() && g.shape(a).rank() == 2 && !complex)
    return g.add("MatMul", {a, b},
                 {{"transpose_a", AttrValue::of(adjoint_a)}, {"transpose_b", AttrValue::of(adjoint_b)}});
  return g.add("BatchMatMulV2", {a, b}, {{"adj_x", AttrValue::of(adjoint_a)}, {"adj_y", AttrValue::of(adjoint_b)}},
               "MatMul");
}

/// (a^H a + l2)^-1 or (a a^H + l2)^-1 as a function: the triangle of it solves both ways.
struct NormalSolver {
  GradientContext& g;
  Value triangle;

  static NormalSolver of(GradientContext& g, bool first_kind) {
    const Value a = g.input(0);
    Value gram = product_of_matrices(g, a, a, first_kind, !first_kind);
    const Value diagonal = g.add("MatrixDiagPart", {gram});
    gram = g.add("MatrixSetDiag", {gram, g.add("AddV2", {diagonal, g.cast(g.input(2), g.type(a))}, {}, "add")});
    return {g, g.add("Cholesky", {gram})};
  }
  Value operator()(Value b) const {
    const Value y = g.add("MatrixTriangularSolve", {triangle, b});
    return g.add("MatrixTriangularSolve", {triangle, y}, {{"adjoint", AttrValue::of(true)}});
  }
};

Status least_squares_gradient(GradientContext& g) {
  if (!g.attrs().flag("fast")) return unimplemented("the gradient of MatrixSolveLs with fast=false");
  const Value a = g.input(0), b = g.input(1), dx = g.grad(0);
  const Shape& shape = g.shape(a);
  if (!shape.rank_known() || shape.dim_from_end(1) < 0 || shape.dim_from_end(2) < 0)
    return unimplemented("the gradient of MatrixSolveLs of unknown size");
  const bool tall = shape.dim_from_end(2) >= shape.dim_from_end(1);
  const NormalSolver solve = NormalSolver::of(g, tall);
  if (tall) {
    const Value x = g.output(0), z = solve(dx), xz = product_of_matrices(g, x, z, false, true);
    const Value zx = product_of_matrices(g, z, x, false, true);
    const Value both = g.add("AddV2", {xz, zx}, {}, "add");
    const Value away = g.neg(product_of_matrices(g, a, both, false, false));
    g.set(0, g.add("AddV2", {away, product_of_matrices(g, b, z, false, true)}, {}, "add"));
    g.set(1, product_of_matrices(g, a, z, false, false));
    return g.status();
  }
  const Value db = solve(product_of_matrices(g, a, dx, false, false)), y = solve(b);
  const Value away = g.neg(product_of_matrices(g, db, product_of_matrices(g, y, a, true, false), false, false));
  const Value rest = g.add("Sub", {dx, product_of_matrices(g, a, db, true, false)}, {}, "sub");
  g.set(0, g.add("AddV2", {away, product_of_matrices(g, y, rest, false, true)}, {}, "add"));
  g.set(1, db);
  return g.status();
}

Status banded_gradient(GradientContext& g) {
  const Value a = g.input(0), b = g.input(1), x = g.output(0);
  const bool lower = g.attrs().flag("lower"), adjoint = g.attrs().flag("adjoint");
  const Value db = g.add("BandedTriangularSolve", {a, g.grad(0)},
                         {{"lower", AttrValue::of(lower)}, {"adjoint", AttrValue::of(!adjoint)}});
  const Value whole =
      g.neg(adjoint ? product_of_matrices(g, x, db, false, true) : product_of_matrices(g, db, x, false, true));
  const Value bands = g.element(g.shape_of(a), -2), others = g.add("Sub", {bands, g.index(1)}, {}, "sub");
  const Value range = lower ? g.pack({g.neg(others), g.index(0)}) : g.pack({g.index(0), others});
  const Value da = g.add("MatrixDiagPartV3", {whole, range, g.scalar(g.type(a), 0)},
                         {{"align", AttrValue::of(std::string("LEFT_RIGHT"))}});
  const Value a_shape = g.shape_of(a), b_shape = g.shape_of(b);
  const Value axes = g.add("BroadcastGradientArgs", {g.slice(a_shape, 0, -2), g.slice(b_shape, 0, -2)});
  g.set(0, g.reshape(g.sum(da, axes), a_shape));
  g.set(1, g.reshape(g.sum(db, axes.output(1)), b_shape));
  return g.status();
}

}  // namespace

OpDef matrix_solve_ls_op() {
  return OpDef("MatrixSolveLs")
      .doc("The x whose matrix product with the first input is nearest to the second.")
      .shape(least_squares_shape)
      .cpu<float>(make<MatrixSolveLs<float>>)
      .cpu<double>(make<MatrixSolveLs<double>>)
      .cpu<complex64>(make<MatrixSolveLs<complex64>>)
      .cpu<complex128>(make<MatrixSolveLs<complex128>>)
      .gradient(least_squares_gradient);
}
OpDef banded_triangular_solve_op() {
  return OpDef("BandedTriangularSolve")
      .doc("x of A x = rhs, where A is a triangle of a few diagonals.")
      .shape(banded_shape)
      .cpu<float>(make<BandedTriangularSolve<float>>)
      .cpu<double>(make<BandedTriangularSolve<double>>)
      .cpu<complex64>(make<BandedTriangularSolve<complex64>>)
      .cpu<complex128>(make<BandedTriangularSolve<complex128>>)
      .gradient(banded_gradient);
}

}  // namespace emplace
